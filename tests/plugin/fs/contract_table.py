#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares docs/contract.md with RocksDB's headers and with Furrow's.

usage: contract_table.py DOCS/contract.md INCLUDE_DIR_OF_ROCKSDB PLUGIN/fs

Every virtual of the classes below has a row, every row is of a virtual that the version at hand has, and a row says
"implemented" or "refused" exactly where Furrow's class overrides it. Exit code 1: they differ; each difference is told.
"""
import pathlib
import re
import sys

CLASSES = ['FileSystem', 'FSSequentialFile', 'FSRandomAccessFile', 'FSWritableFile', 'FSRandomRWFile', 'FSDirectory',
           'FileLock', 'Logger']
ANSWERS = ('implemented', 'inherited', 'refused')


def code_of(path):
    text = path.read_text(encoding='utf-8')
    text = re.sub(r'/\*.*?\*/', ' ', text, flags=re.DOTALL)
    return re.sub(r'//[^\n]*', ' ', text)


def classes_of(code):
    """{class: (bases, body)} of every class that is defined, not only declared."""
    found = {}
    for match in re.finditer(r'\bclass\s+(\w+)(?:\s+final)?\s*(:[^{;]*)?\{', code):
        depth, end = 1, match.end()
        while depth and end < len(code):
            depth += {'{': 1, '}': -1}.get(code[end], 0)
            end += 1
        found[match.group(1)] = (match.group(2) or '', code[match.end():end - 1])
    return found


def virtuals_of(body):
    return set(re.findall(r'\bvirtual\s[^;{]*?(~?\w+)\s*\(', body))


def overrides_of(name, furrow):
    """Names that the class, or a base of ours, overrides; its destructor under the name of RocksDB's class ("~")."""
    if name not in furrow:
        return set()
    bases, body = furrow[name]
    overrides = set()
    for declaration in re.split(r'[;{}]', body):
        match = re.search(r'(~?\w+)\s*\((?:[^()]|\([^()]*\))*\)\s*(?:const\s*)?(?:noexcept\s*)?override\b', declaration)
        if match:
            overrides.add('~' if match.group(1).startswith('~') else match.group(1))
    for base in re.findall(r'\b(Compat\w+)', bases):
        overrides |= overrides_of(base, furrow)
    return overrides


def version_of(include):
    text = (include / 'rocksdb/version.h').read_text(encoding='utf-8')
    return tuple(int(re.search(rf'define ROCKSDB_{part}\s+(\d+)', text).group(1)) for part in ('MAJOR', 'MINOR'))


def tables_of(document):
    """{class: (Furrow's class, {virtual: (answer, least version)})}; what is malformed goes to `errors`."""
    tables, errors, rows = {}, [], None
    for number, line in enumerate(document.read_text(encoding='utf-8').splitlines(), 1):
        heading = re.match(r'## (\w+) \((\w+)\)$', line)
        if heading:
            rows = {}
            tables[heading.group(1)] = (heading.group(2), rows)
        elif line.startswith('#'):
            rows = None
        elif rows is not None and line.startswith('| `'):
            row = re.match(r'\| `(~?\w+)` \| (\w+) \|.*\| (?:(\d+)\.(\d+)\+ )?\|$', line)
            if not row or row.group(2) not in ANSWERS or row.group(1) in rows:
                errors.append(f'line {number}: malformed, or a second row: {line}')
                continue
            least = (int(row.group(3)), int(row.group(4))) if row.group(3) else (0, 0)
            rows[row.group(1)] = (row.group(2), least)
    return tables, errors


def compare(name, table, virtuals, overrides, version):
    ours, rows = table
    errors = []
    for virtual in sorted(virtuals - rows.keys()):
        errors.append(f'{name}::{virtual} has no row')
    for virtual, (answer, least) in rows.items():
        if version < least:
            if virtual in virtuals:
                errors.append(f'{name}::{virtual} is said to come with a later version, but it is there')
            continue
        if virtual not in virtuals:
            errors.append(f'{name}::{virtual} does not exist')
        overridden = ('~' if virtual.startswith('~') else virtual) in overrides
        if overridden != (answer != 'inherited'):
            what = 'overrides it' if overridden else 'does not override it'
            errors.append(f'{name}::{virtual} is said to be {answer}, but {ours} {what}')
    return errors


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    document, include, plugin = (pathlib.Path(argument) for argument in sys.argv[1:])
    version = version_of(include)
    rocksdb = {}
    for header in ('env.h', 'file_system.h'):
        rocksdb.update(classes_of(code_of(include / 'rocksdb' / header)))
    furrow = {}
    for header in sorted(plugin.glob('rocksdb_*.h')):
        furrow.update(classes_of(code_of(header)))
    tables, errors = tables_of(document)
    for name in CLASSES:
        if name not in rocksdb:
            errors.append(f'{name} is not found in the headers of RocksDB')
        elif name not in tables:
            errors.append(f'{name} has no table')
        elif tables[name][0] != 'none' and tables[name][0] not in furrow:
            errors.append(f'{tables[name][0]} is not found in {plugin}')
        else:
            virtuals = virtuals_of(rocksdb[name][1])
            if not virtuals:
                errors.append(f'{name} seems to have no virtuals: its header is not understood')
            errors += compare(name, tables[name], virtuals, overrides_of(tables[name][0], furrow), version)
    for error in errors:
        print(f'{document}: {error}', file=sys.stderr)
    rows = sum(len(table[1]) for table in tables.values())
    print(f'contract_table.py: RocksDB {version[0]}.{version[1]}, {rows} rows, {len(errors)} differences')
    sys.exit(1 if errors else 0)


if __name__ == '__main__':
    main()
