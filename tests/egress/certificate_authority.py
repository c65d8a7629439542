"""A certificate authority for one run of the tests, made with openssl(1)."""
import ssl
import subprocess

CONFIG = '''
[req]
distinguished_name = subject
prompt = no
[subject]
CN = ringwall test
'''


class Authority:
    """A CA. `ca_file` is its certificate, for clients to trust."""

    def __init__(self, folder):
        self.folder, self.ca_file = folder, folder / 'ca.pem'
        (folder / 'openssl.cnf').write_text(CONFIG)
        for name in ('ca', 'site'):
            self._openssl('genpkey', '-algorithm', 'EC', '-pkeyopt', 'ec_paramgen_curve:P-256', '-out', f'{name}.key')
        self._certify('ca.pem', 'ca.key', 'ringwall test authority', 'basicConstraints=critical,CA:TRUE',
                      'keyUsage=critical,keyCertSign', 'subjectKeyIdentifier=hash')

    def _openssl(self, *arguments):
        subprocess.run(['openssl', *arguments], cwd=self.folder, capture_output=True, check=True)

    def _certify(self, file, key, subject, *extensions, signer=()):
        extension_options = [word for extension in extensions for word in ('-addext', extension)]
        self._openssl('req', '-x509', '-new', '-config', 'openssl.cnf', '-key', key, '-out', file, '-days', '2',
                      '-subj', f'/CN={subject}', *extension_options, *signer)

    def server_context(self, name, protocols):
        """A TLS context for a server, with a certificate for this name only, which offers these ALPN protocols."""
        file = f'{name}.pem'
        self._certify(file, 'site.key', name[:64], f'subjectAltName=DNS:{name}', 'basicConstraints=critical,CA:FALSE',
                      'extendedKeyUsage=serverAuth', signer=('-CA', 'ca.pem', '-CAkey', 'ca.key'))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.folder / file, self.folder / 'site.key')
        context.set_alpn_protocols(list(protocols))
        return context

    def client_context(self):
        """A TLS context for a client that trusts only this authority."""
        return ssl.create_default_context(cafile=self.ca_file)
