"""What the sites of the test internet serve besides pages: a git repository, an npm package and a Python package.

Each function here returns a function that answers the requests below one path.
"""
import base64
import hashlib
import io
import json
import os
import subprocess
import tarfile
import zipfile

REPOSITORY = 'thing.git'
CONTENT = 'a thing from the test internet\n'
# The environment of git: the configuration of the user and of the machine must not matter.
GIT_ENV = {'PATH': os.environ['PATH'], 'HOME': '/nonexistent', 'GIT_CONFIG_NOSYSTEM': '1', 'LANG': 'C.UTF-8'}


def make_repository(folder):
    """Makes FOLDER/thing.git with one commit."""
    source = folder / 'source'
    source.mkdir()
    (source / 'thing.txt').write_text(CONTENT)
    person = {'NAME': 'A Tester', 'EMAIL': 'tester@good.example', 'DATE': '2001-01-01T00:00:00Z'}
    author = {f'GIT_{role}_{what}': text for role in ('AUTHOR', 'COMMITTER') for what, text in person.items()}
    for command in (['init', '-q', '-b', 'main'], ['add', '.'], ['commit', '-q', '-m', 'A thing'],
                    ['clone', '-q', '--bare', '.', folder / REPOSITORY]):
        subprocess.run(['git', *command], cwd=source, env={**GIT_ENV, **author}, check=True)


def git_over_http(folder):
    """Answers with git's own CGI program."""
    def answer(request):
        path, _, query = request.target.partition('?')
        variables = {
            **GIT_ENV, 'GIT_PROJECT_ROOT': str(folder), 'GIT_HTTP_EXPORT_ALL': '1', 'REQUEST_METHOD': request.method,
            'PATH_INFO': path, 'QUERY_STRING': query, 'CONTENT_TYPE': request.headers.get('content-type', ''),
            'HTTP_CONTENT_ENCODING': request.headers.get('content-encoding', ''),
            'CONTENT_LENGTH': str(len(request.body)), 'GIT_PROTOCOL': request.headers.get('git-protocol', '')}
        result = subprocess.run(['git', 'http-backend'], env=variables, input=request.body, stdout=subprocess.PIPE,
                                check=True)
        head, _, body = result.stdout.partition(b'\r\n\r\n')
        headers = dict(line.split(': ', 1) for line in head.decode().split('\r\n'))
        return int(headers.pop('Status', '200').split()[0]), headers, body
    return answer


def npm_registry(prefix):
    """An npm registry with one package, `thing`, that exports CONTENT."""
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode='w:gz') as tar:
        for name, text in (('package.json', json.dumps({'name': 'thing', 'version': '1.0.0', 'main': 'index.js'})),
                           ('index.js', f'module.exports = {json.dumps(CONTENT)}')):
            member = tarfile.TarInfo(f'package/{name}')
            member.size = len(text)
            tar.addfile(member, io.BytesIO(text.encode()))
    data = archive.getvalue()

    def answer(request):
        if request.path.endswith('.tgz'):
            return 200, {'Content-Type': 'application/octet-stream'}, data
        if request.path != f'{prefix}thing':
            return 404, {'Content-Type': 'application/json'}, b'{}'
        integrity = f'sha512-{base64.b64encode(hashlib.sha512(data).digest()).decode()}'
        tarball = f'{request.scheme}://{request.host}{prefix}thing/-/thing-1.0.0.tgz'
        version = {'name': 'thing', 'version': '1.0.0', 'main': 'index.js',
                   'dist': {'tarball': tarball, 'integrity': integrity, 'shasum': hashlib.sha1(data).hexdigest()}}
        return 200, {'Content-Type': 'application/json'}, json.dumps(
            {'name': 'thing', 'dist-tags': {'latest': '1.0.0'}, 'versions': {'1.0.0': version}}).encode()
    return answer


def pip_index(prefix):
    """A Python package index with one wheel, `thing`, whose only module has CONTENT as TEXT."""
    archive, name, info = io.BytesIO(), 'thing-1.0.0-py3-none-any.whl', 'thing-1.0.0.dist-info'
    with zipfile.ZipFile(archive, 'w') as wheel:
        wheel.writestr('thing.py', f'TEXT = {CONTENT!r}\n')
        wheel.writestr(f'{info}/METADATA', 'Metadata-Version: 2.1\nName: thing\nVersion: 1.0.0\n')
        wheel.writestr(f'{info}/WHEEL', 'Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n')
        wheel.writestr(f'{info}/RECORD', f'thing.py,,\n{info}/METADATA,,\n{info}/WHEEL,,\n{info}/RECORD,,\n')
    data = archive.getvalue()

    def answer(request):
        if request.path.endswith(name):
            return 200, {'Content-Type': 'application/octet-stream'}, data
        link = f'<a href="{prefix}files/{name}#sha256={hashlib.sha256(data).hexdigest()}">{name}</a>'
        page = f'<!DOCTYPE html><html><body>{link if request.path == f"{prefix}thing/" else ""}</body></html>'
        return 200, {'Content-Type': 'text/html'}, page.encode()
    return answer
