#!/usr/bin/env python3
"""Prints the bill of materials of an unpacked bundle, as SPDX 2.3 in JSON.

  sbom.py FOLDER --name NAME --version VERSION --commit COMMIT --time SECONDS --library FILE=PATH ...

A package each: the bundle, and each distribution package that a library of the bundle comes from, with its version and
the library's digest. --library has the file in lib/ and its place on the build machine, from which dpkg or rpm knows the
package. Libraries that the host supplies are not in a bundle, so not in its bill. The same input gives the same bytes.
Exit 2: wrong use, or a library that is not in the folder.
"""
import argparse
import hashlib
import json
import os
import subprocess
import sys
import time


def output_of(*command):
    try:
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ''


def digest(path):
    with open(path, 'rb') as file:
        return hashlib.sha256(file.read()).hexdigest()


def owner_of(path):
    """Name and version of the distribution's package; ('', '') where neither dpkg nor rpm knows the file."""
    for place in (os.path.realpath(path), path, os.path.realpath(path).removeprefix('/usr')):
        owner = output_of('dpkg-query', '-S', place).split(': ')[0]
        if owner:
            return tuple(output_of('dpkg-query', '-W', '-f', '${source:Package} ${source:Version}', owner).split())
    return tuple((output_of('rpm', '-qf', '--qf', '%{NAME} %{VERSION}-%{RELEASE}', path) or ' ').split(' ')[:2])


def identifier(text):
    return 'SPDXRef-' + ''.join(c if c.isalnum() or c in '.-' else '-' for c in text)


def package(name, version, **more):
    return {'SPDXID': identifier(f'Package-{name}'), 'name': name, 'versionInfo': version or 'NOASSERTION',
            'downloadLocation': 'NOASSERTION', 'filesAnalyzed': False, 'licenseConcluded': 'NOASSERTION',
            'licenseDeclared': 'NOASSERTION', 'copyrightText': 'NOASSERTION', **more}


def described(folder, given, libraries):
    """Packages, files and relationships."""
    bundle = package(given.name, given.version, licenseDeclared='Apache-2.0', primaryPackagePurpose='APPLICATION',
                     comment=f'built from commit {given.commit}')
    packages, files, relations = {given.name: bundle}, [], []
    relations.append(('SPDXRef-DOCUMENT', 'DESCRIBES', bundle['SPDXID']))
    for kind in ('bin', 'lib'):
        for name in sorted(os.listdir(os.path.join(folder, kind))):
            entry = {'SPDXID': identifier(f'File-{kind}-{name}'), 'fileName': f'./{kind}/{name}', 'fileTypes': ['BINARY'],
                     'checksums': [{'algorithm': 'SHA256', 'checksumValue': digest(os.path.join(folder, kind, name))}],
                     'licenseConcluded': 'NOASSERTION', 'copyrightText': 'NOASSERTION'}
            files.append(entry)
            relations.append((bundle['SPDXID'], 'CONTAINS', entry['SPDXID']))
            if kind == 'bin' or name not in libraries:
                continue
            owner, version = (owner_of(libraries[name]) + ('', ''))[:2]
            owner = owner or name
            if owner not in packages:
                packages[owner] = package(owner, version)
                relations.append((bundle['SPDXID'], 'DEPENDS_ON', packages[owner]['SPDXID']))
            relations.append((entry['SPDXID'], 'GENERATED_FROM', packages[owner]['SPDXID']))
    return list(packages.values()), files, relations


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split('\n\n')[1].strip())
    parser.add_argument('folder')
    for word in ('name', 'version', 'commit'):
        parser.add_argument('--' + word, required=True)
    parser.add_argument('--time', type=int, required=True)
    parser.add_argument('--library', action='append', default=[])
    given = parser.parse_args()
    libraries = dict(word.split('=', 1) for word in given.library)
    for name in libraries:
        if not os.path.exists(os.path.join(given.folder, 'lib', name)):
            print(f'sbom.py: lib/{name}: not in {given.folder}', file=sys.stderr)
            return 2
    packages, files, relations = described(given.folder, given, libraries)
    contents = hashlib.sha256(json.dumps(files, sort_keys=True).encode()).hexdigest()
    document = {'spdxVersion': 'SPDX-2.3', 'dataLicense': 'CC0-1.0', 'SPDXID': 'SPDXRef-DOCUMENT',
                'name': f'{given.name}-{given.version}',
                'documentNamespace': f'urn:railgauge:sbom:{given.name}-{given.version}:{contents}',
                'creationInfo': {'created': time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime(given.time)),
                                 'creators': ['Tool: railgauge-deploy-sbom.py']},
                'packages': packages, 'files': files,
                'relationships': [{'spdxElementId': one, 'relationshipType': kind, 'relatedSpdxElement': other}
                                  for one, kind, other in relations]}
    json.dump(document, sys.stdout, indent=1, sort_keys=True)
    print()
    return 0


if __name__ == '__main__':
    sys.exit(main())
