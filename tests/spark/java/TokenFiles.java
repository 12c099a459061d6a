import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.DataOutputStream;
import java.io.File;
import java.io.FileOutputStream;
import java.net.URI;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.s3a.auth.MarshalledCredentials;
import org.apache.hadoop.fs.s3a.auth.delegation.EncryptionSecrets;
import org.apache.hadoop.fs.s3a.auth.delegation.FullCredentialsTokenIdentifier;
import org.apache.hadoop.fs.s3a.auth.delegation.RoleTokenIdentifier;
import org.apache.hadoop.fs.s3a.auth.delegation.SessionTokenIdentifier;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.security.Credentials;
import org.apache.hadoop.security.token.Token;
import org.apache.hadoop.security.token.TokenIdentifier;

/** Hadoop's own reader and writer of token files, for the tests: {@code TokenFiles COMMAND FILE...}. */
public final class TokenFiles {
  private static final Text SESSION = new Text("S3ADelegationToken/Session");
  private static final String ORIGIN = "from Java";

  public static void main(String[] arguments) throws Exception {
    switch (arguments[0]) {
      case "print":
        for (int at = 1; at < arguments.length; at++) {
          print(new File(arguments[at]));
        }
        break;
      case "rewrite":
        rewrite(arguments[1], arguments[2], arguments[3]);
        break;
      case "write":
        write(arguments[1], arguments[2]);
        break;
      default:
        throw new IllegalArgumentException(arguments[0]);
    }
  }

  private static void print(File file) throws Exception {
    Credentials credentials = Credentials.readTokenStorageFile(file, new Configuration(false));
    List<Token<? extends TokenIdentifier>> tokens = new ArrayList<>(credentials.getAllTokens());
    tokens.sort(Comparator.comparing(token -> token.getService().toString()));
    for (Token<? extends TokenIdentifier> token : tokens) {
      line(file.getName(), token.getKind(), token.getService(), token.encodeToUrlString());
      try {
        identifier(token);
      } catch (Exception refused) {
        line("refused", refused.getClass().getSimpleName());
      }
    }
  }

  private static void identifier(Token<? extends TokenIdentifier> token) throws Exception {
    SessionTokenIdentifier found = (SessionTokenIdentifier) token.decodeIdentifier();
    MarshalledCredentials secret = found.getMarshalledCredentials();
    line(
        found.getClass().getSimpleName(),
        found.getUser().getUserName(),
        found.getRenewer(),
        found.getIssueDate(),
        found.getMaxDate(),
        found.getUri(),
        found.getOrigin(),
        found.getUuid(),
        found.getEncryptionSecrets().getEncryptionAlgorithm(),
        found.getEncryptionSecrets().getEncryptionKey(),
        found.getCreated(),
        secret.getAccessKey(),
        secret.getSecretKey(),
        secret.getSessionToken(),
        secret.getRoleARN(),
        secret.getExpiration());
  }

  private static void rewrite(String from, String to, String format) throws Exception {
    save(Credentials.readTokenStorageFile(new File(from), new Configuration(false)), to, format);
  }

  private static void write(String to, String format) throws Exception {
    Text owner = new Text("owner");
    Text renewer = new Text("renewer");
    EncryptionSecrets none = new EncryptionSecrets();
    Credentials credentials = new Credentials();
    add(credentials, new SessionTokenIdentifier(
        SESSION, owner, renewer, URI.create("s3a://session"), marshalled(), none, ORIGIN));
    add(credentials, new RoleTokenIdentifier(
        URI.create("s3a://role"), owner, renewer, marshalled(), none, ORIGIN));
    add(credentials, new FullCredentialsTokenIdentifier(
        URI.create("s3a://full"), owner, renewer, marshalled(), none, ORIGIN));
    credentials.addSecretKey(new Text("other"), "hidden".getBytes(UTF_8));
    save(credentials, to, format);
  }

  private static void save(Credentials credentials, String to, String format) throws Exception {
    Credentials.SerializedFormat spelling =
        Credentials.SerializedFormat.valueOf(format.toUpperCase());
    try (DataOutputStream out = new DataOutputStream(new FileOutputStream(to))) {
      credentials.writeTokenStorageToStream(out, spelling);
    }
  }

  private static void add(Credentials credentials, SessionTokenIdentifier identifier) {
    Text service = new Text(identifier.getUri().toString());
    Token<SessionTokenIdentifier> token = new Token<>(
        identifier.getBytes(), "non-password".getBytes(UTF_8),
        identifier.getKind(), service);
    credentials.addToken(service, token);
  }

  private static MarshalledCredentials marshalled() {
    MarshalledCredentials secret = new MarshalledCredentials("an access key", "a secret", "a session");
    secret.setRoleARN("arn:aws:iam::000000000000:role/Java");
    secret.setExpiration(1_900_000_000_000L);
    return secret;
  }

  private static void line(Object... values) {
    List<String> texts = new ArrayList<>();
    for (Object value : values) {
      texts.add(String.valueOf(value));
    }
    System.out.println(String.join("\t", texts));
  }

  private TokenFiles() {}
}
