import java.io.IOException;
import java.util.HashMap;
import java.util.Map;
import org.apache.iceberg.aws.s3.S3FileIO;
import org.apache.iceberg.io.InputFile;
import org.apache.iceberg.io.SeekableInputStream;

/** Reads files as Spark's executors do. Arguments: properties in pairs, `--`, paths. */
public class ReadFiles {
  public static void main(String[] arguments) {
    Map<String, String> properties = new HashMap<>();
    int at = 0;
    for (; !arguments[at].equals("--"); at += 2) {
      properties.put(arguments[at], arguments[at + 1]);
    }
    try (S3FileIO files = new S3FileIO()) {
      files.initialize(properties);
      for (at++; at < arguments.length; at++) {
        System.out.println(read(files, arguments[at]));
      }
    }
    System.exit(0);
  }

  private static String read(S3FileIO files, String path) {
    try {
      InputFile file = files.newInputFile(path);
      int size;
      try (SeekableInputStream stream = file.newStream()) {
        size = stream.readAllBytes().length;
      }
      byte[] part = new byte[4];
      try (SeekableInputStream stream = file.newStream()) {
        stream.seek(1000);
        stream.readNBytes(part, 0, part.length);
      }
      return size + " " + file.getLength() + " " + Byte.toUnsignedInt(part[0]);
    } catch (IOException | RuntimeException error) {
      return error.getClass().getSimpleName();
    }
  }
}
