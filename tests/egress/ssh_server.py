"""An SSH server for git: Dropbear, which needs neither root nor an account of another user.

It logs in only users of /etc/passwd. So the test internet mounts its own file there, with a user `git` whose uid is
that of the user who runs the tests, and whose home directory contains the repository.
"""
import os
import subprocess

# A full path, because an ordinary user's PATH may lack /usr/sbin.
DROPBEAR = '/usr/sbin/dropbear'


def passwd_line(folder):
    """The line of the user `git` in /etc/passwd."""
    return f'git:x:{os.geteuid()}:{os.getegid()}::{folder}:/bin/sh\n'


class SshServer:
    """The server's key, the client's key, and the handler of connections. Logins need passwd_line() in /etc/passwd."""

    def __init__(self, folder):
        self.folder, self.host_key, self.known_hosts = folder, folder / 'host_key', folder / 'known_hosts'
        self.client_key = folder / 'client_key'
        ssh = folder / '.ssh'
        ssh.mkdir(mode=0o700)
        made = subprocess.run(['dropbearkey', '-t', 'ed25519', '-f', self.host_key], capture_output=True, text=True,
                              check=True)
        self.public_key = next(line for line in made.stdout.splitlines() if line.startswith('ssh-ed25519'))
        subprocess.run(['ssh-keygen', '-q', '-t', 'ed25519', '-N', '', '-C', 'test', '-f', self.client_key], check=True)
        (ssh / 'authorized_keys').write_text(self.client_key.with_suffix('.pub').read_text())
        (ssh / 'authorized_keys').chmod(0o600)

    def write_known_hosts(self, *names):
        """Writes `known_hosts`, with the server's key for each of these names."""
        key = ' '.join(self.public_key.split()[:2])
        self.known_hosts.write_text(''.join(f'{name} {key}\n' for name in names))

    def serve(self, connection, visit):
        """Runs Dropbear for one connection. It is killed when pytest exits."""
        process = subprocess.run(
            ['setpriv', '--pdeathsig', 'KILL', DROPBEAR, '-i', '-s', '-j', '-k', '-r', self.host_key],
            stdin=connection, stdout=connection, stderr=subprocess.PIPE, check=False, cwd=self.folder)
        visit.received = process.stderr
