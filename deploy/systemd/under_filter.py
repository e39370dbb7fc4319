#!/usr/bin/env python3
"""Runs a command under the system call filter of a unit, without systemd, and lists the calls that the unit would refuse.

  under_filter.py [--unit FILE | --list FILE] [--counts] COMMAND...
  under_filter.py --unit FILE --write FILE

--unit FILE   the unit (default: railgauge-agent.service beside this script); systemd-analyze expands its sets
--list FILE   the allowed calls as --write wrote them, for a machine without systemd-analyze
--write FILE  writes the allowed calls and their numbers, then ends
--counts      lists the calls that the unit allows too; every one costs some 10 us then, so figures mean nothing

SystemCallFilter= and RestrictAddressFamilies= of the unit apply; a refused call fails with EPERM (EAFNOSUPPORT for a
socket), as under the unit. Prints "refused NAME COUNT PROGRAMS" lines on stderr after the command's end. Exit code: the
command's; 2: wrong use; 4: no filter could be made. x86_64 and Linux 5.5 or later only.
"""
import argparse
import ctypes
import errno
import fcntl
import os
import re
import select
import signal
import socket
import struct
import subprocess
import sys
from collections import Counter, defaultdict

PR_SET_NO_NEW_PRIVS = 38
SECCOMP_SYSCALL = 317  # of x86_64, as the header below
SET_MODE_FILTER, NEW_LISTENER = 1, 1 << 3
ALLOW, NOTIFY, ERRNO = 0x7FFF0000, 0x7FC00000, 0x00050000
CONTINUE = 1  # flag of an answer: the kernel carries the call out
AUDIT_ARCH_X86_64 = 0xC000003E
LOAD, JUMP_IF_EQUAL, JUMP_IF_GREATER, RETURN = 0x20, 0x15, 0x25, 0x06
AT_NUMBER, AT_ARCH, AT_FIRST_ARGUMENT = 0, 4, 16
RECEIVE = (3 << 30) | (80 << 16) | (ord('!') << 8)
SEND = (3 << 30) | (24 << 16) | (ord('!') << 8) | 1
X32_BIT = 0x40000000
FAMILIES = {'AF_UNIX': 1, 'AF_INET': 2, 'AF_INET6': 10, 'AF_NETLINK': 16, 'AF_PACKET': 17}
HEADERS = ('/usr/include/x86_64-linux-gnu/asm/unistd_64.h', '/usr/include/asm/unistd_64.h')


def fail(text, code=4):
    print(f'under_filter.py: {text}', file=sys.stderr)
    sys.exit(code)


def numbers_of_calls():
    for path in HEADERS:
        if os.path.exists(path):
            with open(path, encoding='ascii') as header:
                return {name: int(number) for name, number in re.findall(r'#define __NR_(\w+) (\d+)', header.read())}
    return fail('asm/unistd_64.h is not there; Debian has it in linux-libc-dev; or use --list')


def members_of(name, seen):
    """The calls of a set such as @ipc, with the sets in it."""
    if not name.startswith('@'):
        return {name}
    if name in seen:
        return set()
    seen.add(name)
    try:
        text = subprocess.run(['systemd-analyze', '--no-pager', 'syscall-filter', name], check=True, capture_output=True,
                              text=True).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        return fail(f'systemd-analyze syscall-filter {name}: {error}; or use --list')
    out = set()
    for line in text.splitlines()[1:]:
        word = line.strip()
        if word and not word.startswith('#'):
            out |= members_of(word, seen)
    return out


def settings_of(unit, key):
    with open(unit, encoding='utf-8') as file:
        return [line.split('=', 1)[1].strip() for line in file if line.startswith(key + '=')]


def allowed_by(unit):
    """As systemd reads it: lines add up, ~ takes away, and @default is always allowed."""
    calls = members_of('@default', set())
    for line in settings_of(unit, 'SystemCallFilter'):
        members = set().union(*(members_of(word, set()) for word in line.removeprefix('~').split()))
        calls = calls - members if line.startswith('~') else calls | members
    return calls | members_of('@default', set())


def statement(code, value, if_true=0, if_false=0):
    return struct.pack('HBBI', code, if_true, if_false, value)


def program_of(numbers, families, counts):
    """A filter: calls of `numbers` pass, or are reported where they are counted; others are reported."""
    out = [statement(LOAD, AT_ARCH), statement(JUMP_IF_EQUAL, AUDIT_ARCH_X86_64, 1, 0), statement(RETURN, ERRNO | errno.EPERM),
           statement(LOAD, AT_NUMBER), statement(JUMP_IF_GREATER, X32_BIT - 1, 0, 1), statement(RETURN, ERRNO | errno.EPERM)]
    socket_call = 41
    # The listener's descriptor leaves by sendmsg before the command starts.
    for number in sorted(numbers - {socket_call}):
        verdict = NOTIFY if counts and number != 46 else ALLOW
        out += [statement(JUMP_IF_EQUAL, number, 0, 1), statement(RETURN, verdict)]
    if socket_call in numbers:
        out += [statement(JUMP_IF_EQUAL, socket_call, 0, 2 + 2 * len(families)), statement(LOAD, AT_FIRST_ARGUMENT)]
        for family in families:
            out += [statement(JUMP_IF_EQUAL, family, 0, 1), statement(RETURN, NOTIFY if counts else ALLOW)]
        out.append(statement(RETURN, NOTIFY))
    out.append(statement(RETURN, NOTIFY))
    return b''.join(out)


def install(program):
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
        fail('PR_SET_NO_NEW_PRIVS: ' + os.strerror(ctypes.get_errno()))
    text = ctypes.create_string_buffer(program)

    class Program(ctypes.Structure):
        _fields_ = [('length', ctypes.c_ushort), ('filter', ctypes.c_void_p)]

    filled = Program(len(program) // 8, ctypes.addressof(text))
    listener = libc.syscall(SECCOMP_SYSCALL, SET_MODE_FILTER, NEW_LISTENER, ctypes.byref(filled))
    if listener < 0:
        fail('seccomp: ' + os.strerror(ctypes.get_errno()))
    return listener


def name_of_process(pid):
    try:
        with open(f'/proc/{pid}/comm', encoding='utf-8', errors='replace') as file:
            return file.read().strip()
    except OSError:
        return '?'


def serve(listener, allowed, families, child):
    """Answers what the filter reports until every process of the command has ended."""
    refused, counted, programs = Counter(), Counter(), defaultdict(set)
    poll = select.poll()
    poll.register(listener, select.POLLIN)
    status = None
    while True:
        events = poll.poll(200)
        if status is None:
            pid, code = os.waitpid(child, os.WNOHANG)
            status = code if pid == child else None
        if not events:
            continue
        if not events[0][1] & select.POLLIN:
            break
        question = bytearray(80)
        try:
            fcntl.ioctl(listener, RECEIVE, question)
        except OSError:
            continue  # the process was killed meanwhile
        ident, pid, _, number, _, _, first = struct.unpack_from('QIIiIQQ', question)
        passes = number in allowed and (number != 41 or first in families)
        if passes:
            counted[number] += 1
            answer = struct.pack('QqiI', ident, 0, 0, CONTINUE)
        else:
            refused[number] += 1
            programs[number].add(name_of_process(pid))
            error = errno.EAFNOSUPPORT if number in allowed else errno.EPERM
            answer = struct.pack('QqiI', ident, 0, -error, 0)
        try:
            fcntl.ioctl(listener, SEND, bytearray(answer))
        except OSError:
            pass
    if status is None:
        status = os.waitpid(child, 0)[1]
    return status, refused, counted, programs


def become(command, program, channel):
    listener = install(program)
    socket.send_fds(channel, [b'x'], [listener])
    os.close(listener)
    channel.close()
    try:
        os.execvp(command[0], command)
    except OSError as error:
        print(f'under_filter.py: {command[0]}: {error.strerror}', file=sys.stderr)
    os._exit(127)


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split('\n\n', maxsplit=1)[0])
    parser.add_argument('--unit', default=os.path.join(os.path.dirname(os.path.abspath(__file__)), 'railgauge-agent.service'))
    parser.add_argument('--list')
    parser.add_argument('--write')
    parser.add_argument('--counts', action='store_true')
    parser.add_argument('command', nargs=argparse.REMAINDER)
    given = parser.parse_args()
    if given.list:
        with open(given.list, encoding='ascii') as file:
            rows = [line.split() for line in file]
        names = {name: int(number) for kind, name, number in rows if kind == 'call'}
        families = {int(number) for kind, _, number in rows if kind == 'family'}
    else:
        known = numbers_of_calls()
        names = {name: known[name] for name in allowed_by(given.unit) if name in known}
        families = {FAMILIES[word] for line in settings_of(given.unit, 'RestrictAddressFamilies') for word in line.split()}
    if given.write:
        with open(given.write, 'w', encoding='ascii') as file:
            file.writelines(f'call {name} {names[name]}\n' for name in sorted(names))
            file.writelines(f'family {family} {family}\n' for family in sorted(families))
        return 0
    if not given.command:
        fail('no command', 2)
    allowed = set(names.values())
    ours, theirs = socket.socketpair()
    child = os.fork()
    if child == 0:
        ours.close()
        become(given.command, program_of(allowed, families, given.counts), theirs)
    theirs.close()
    _, descriptors, _, _ = socket.recv_fds(ours, 1, 1)
    if not descriptors:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda number, _: os.kill(child, number))
    status, refused, counted, programs = serve(descriptors[0], allowed, families, child)
    if any(os.path.exists(path) for path in HEADERS):
        names = numbers_of_calls() | names
    by_number = {number: name for name, number in names.items()}
    for number, count in sorted(counted.items(), key=lambda item: -item[1]):
        print(f'used {by_number.get(number, number)} {count}', file=sys.stderr)
    for number, count in sorted(refused.items()):
        print(f'refused {by_number.get(number, number)} {count} {",".join(sorted(programs[number]))}', file=sys.stderr)
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


if __name__ == '__main__':
    sys.exit(main())
