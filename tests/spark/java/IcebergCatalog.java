import java.net.InetSocketAddress;
import java.util.HashMap;
import java.util.Map;
import org.apache.iceberg.CatalogUtil;
import org.apache.iceberg.rest.RESTCatalogAdapter;
import org.apache.iceberg.rest.RESTCatalogServlet;
import org.eclipse.jetty.ee10.servlet.ServletContextHandler;
import org.eclipse.jetty.ee10.servlet.ServletHolder;
import org.eclipse.jetty.server.Server;

/**
 * Iceberg's own REST catalog over a catalog of the given properties (name, value, name, value, …).
 * It prints its address, and ends with its standard input.
 */
public final class IcebergCatalog {
  public static void main(String[] arguments) throws Exception {
    Map<String, String> properties = new HashMap<>();
    for (int next = 0; next < arguments.length; next += 2) {
      properties.put(arguments[next], arguments[next + 1]);
    }
    var adapter = new RESTCatalogAdapter(CatalogUtil.buildIcebergCatalog("lake", properties, null));
    var routes = new ServletContextHandler();
    routes.addServlet(new ServletHolder(new RESTCatalogServlet(adapter)), "/*");
    var server = new Server(new InetSocketAddress("127.0.0.1", 0));
    server.setHandler(routes);
    server.start();
    System.out.println(server.getURI());
    System.in.read();
    System.exit(0);
  }
}
