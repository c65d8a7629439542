// Fetches a URL with Java's own resolver cache and TLS. Trusts the CA in the file SSL_CERT_FILE.
import java.io.FileInputStream;
import java.net.URL;
import java.security.KeyStore;
import java.security.cert.CertificateFactory;
import javax.net.ssl.HttpsURLConnection;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;

public class Fetch {
        public static void main(String[] arguments) throws Exception {
                KeyStore trusted = KeyStore.getInstance(KeyStore.getDefaultType());
                trusted.load(null);
                try (FileInputStream file = new FileInputStream(System.getenv("SSL_CERT_FILE"))) {
                        CertificateFactory factory = CertificateFactory.getInstance("X.509");
                        trusted.setCertificateEntry("ca", factory.generateCertificate(file));
                }
                TrustManagerFactory managers =
                        TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
                managers.init(trusted);
                SSLContext context = SSLContext.getInstance("TLS");
                context.init(null, managers.getTrustManagers(), null);
                HttpsURLConnection.setDefaultSSLSocketFactory(context.getSocketFactory());
                new URL(arguments[0]).openStream().transferTo(System.out);
        }
}
