"""An SSH server for git: Dropbear, which needs neither root nor an account beyond the user's own.

It logs in users of /etc/passwd only, so the test internet has a file of its own there, with a user `git` that is
whoever runs the tests and lives where the repository is.
"""
import os
import subprocess

# Where Debian has it is not in everybody's PATH.
DROPBEAR = '/usr/sbin/dropbear'


def account(folder):
    """The line of /etc/passwd."""
    return f'git:x:{os.geteuid()}:{os.getegid()}::{folder}:/bin/sh\n'


class SshServer:
    """Its keys, the client's key, and the handler of its connections. Needs the account."""

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

    def know(self, *names):
        """Lets clients that read `known_hosts` know the server by these names."""
        key = ' '.join(self.public_key.split()[:2])
        self.known_hosts.write_text(''.join(f'{name} {key}\n' for name in names))

    def serve(self, connection, visit):
        """One process for each connection; it ends with us."""
        process = subprocess.run(
            ['setpriv', '--pdeathsig', 'KILL', DROPBEAR, '-i', '-s', '-j', '-k', '-r', self.host_key],
            stdin=connection, stdout=connection, stderr=subprocess.PIPE, check=False, cwd=self.folder)
        visit.received = process.stderr
