"""What a job must not be able to do. Each probe is run inside, where it must be held, and outside, where it must not.

Bodies are those of functions in driver.py, where their helpers are; `s` is what host.py knows of the host.
"""

# ruff: noqa: E501 - a probe is easier to read in one line

from dataclasses import dataclass, field
from typing import Literal

Control = Literal["anybody", "root", "user", "open-proxy"]
"""Where a probe must succeed, so that it is known to be able to: outside, run by anybody; by root; by an ordinary user;
or inside, through a proxy that lets everything through."""

ITS_OWN_KERNEL = "gVisor's own kernel answers: what is done to it is not done to the host"


@dataclass(frozen=True)
class Probe:
    name: str
    body: str
    control: Control = "anybody"
    # Runtimes in which success means nothing, and why.
    means_nothing_in: dict[str, str] = field(default_factory=dict)


def _own_kernel() -> dict[str, str]:
    return {"gvisor": ITS_OWN_KERNEL}


FILES = [
    Probe("read the agent's private key", "return open(s['key']).read()"),
    Probe("read the agent's journal", "return open(s['journal']).read()"),
    Probe("find the agent's folder by searching", "return any(os.path.isdir(p) for p in s['places'])"),
    Probe("talk to the agent's socket", "socket.socket(socket.AF_UNIX).connect(s['agent_socket']); return True"),
    Probe("talk to a container engine", "socket.socket(socket.AF_UNIX).connect(s['engine_socket']); return True"),
    Probe("list another attempt's folder", "return os.listdir(s['neighbour'])"),
    Probe("read another attempt's input", "return open(s['neighbour'] + '/work/input').read()"),
    Probe("write to another attempt's folder", "return creatable(s['neighbour'] + '/work')"),
    Probe("go up from its own folder", "return open('../' * 12 + s['key']).read()"),
    Probe(
        "link to a file of the host",
        "os.symlink(s['key'], s['scratch'] + '/l'); return open(s['scratch'] + '/l').read()",
    ),
    Probe("hard-link a file of the host", "os.link(s['key'], s['scratch'] + '/hard-link'); return True"),
    Probe("read the host's temporary files", "return open(s['tmp_file']).read()"),
    Probe("list the home folder", "return os.listdir(s['home'])"),
    Probe("list root's home", "return os.listdir('/root') or True", "root"),
    Probe("read the passwords", "return open('/etc/shadow').read()", "root"),
    Probe("learn the host's users", "return s['user'] in open('/etc/passwd').read()"),
    Probe("read the host's logs", "return os.listdir('/var/log')"),
    Probe(
        "enter the root of some process",
        "return any(os.path.exists(f'/proc/{p}/root{s[\"key\"]}') for p in os.listdir('/proc'))",
    ),
    Probe(
        "enter the folder of some process",
        "return any(os.path.exists(f'/proc/{p}/cwd/key.json') for p in os.listdir('/proc'))",
    ),
    Probe("read the kernel's memory", "return os.pread(os.open('/proc/kcore', os.O_RDONLY), 4, 0)", "root"),
    Probe("read a disk", "return open(s['disk'], 'rb').read(512)", "root"),
    Probe(
        "make a disk's device file",
        "os.mknod(s['scratch'] + '/d', 0o60600, s['disk_number']); return os.pread(os.open(s['scratch'] + '/d', os.O_RDONLY), 8, 1024)",
        "root",
    ),
    Probe(
        "open a file by its handle",
        """
        handle = ctypes.create_string_buffer((128).to_bytes(4, 'little') + bytes(132))
        mount = ctypes.c_int()
        call('name_to_handle_at', -100, s['handle_of'].encode(), handle, ctypes.byref(mount), 0)
        return call('open_by_handle_at', os.open(s['handle_of'], os.O_RDONLY), handle, 0) >= 0
    """,
        "root",
    ),
    Probe("write to /usr", "return creatable('/usr')", "root"),
    Probe("write to /etc", "return creatable('/etc')", "root"),
    Probe("write to the root", "return creatable('/')", "root"),
    Probe("write to a library", "return writable(next(f'/usr/lib/{n}' for n in ('os-release',)))", "root"),
    Probe(
        "write to /sys",
        "return any(writable('/sys/kernel/' + n) for n in ('uevent_helper', 'profiling', 'mm/transparent_hugepage/enabled') if os.path.exists('/sys/kernel/' + n))",
        "root",
    ),
    Probe("write to control groups", "return any(os.access(p, os.W_OK) for p in s['cgroups'])", "root"),
    Probe("set the core pattern", "return writable('/proc/sys/kernel/core_pattern')", "root"),
    Probe("change the kernel's settings", "return writable('/proc/sys/vm/drop_caches')", "root"),
    Probe("press sysrq", "return writable('/proc/sysrq-trigger')", "root"),
]

PRIVILEGES = [
    Probe("become root", "os.setuid(0); return os.geteuid() == 0", "root"),
    Probe("take root's group", "os.setgroups([0]); return True", "root"),
    Probe("be root already", "return os.geteuid() == 0", "root"),
    Probe("have a capability", "return int(status('CapEff'), 16) or int(status('CapPrm'), 16)", "root"),
    Probe("have a capability in reach", "return int(status('CapBnd'), 16)"),
    Probe("become root by a setuid program", """
        import subprocess
        held = subprocess.Popen(s['setuid'], stdin=subprocess.PIPE, stdout=-3, stderr=-3)
        for _ in range(200):
            with open(f'/proc/{held.pid}/status') as lines:
                uids = next(line for line in lines if line.startswith('Uid:')).split()
            if uids[2] == '0':
                return True
            select.select([], [], [], 0.005)
    """, "user"),
    Probe("gain privileges by a program", "return status('NoNewPrivs') == '0'", means_nothing_in=_own_kernel()),
    Probe("run without a filter", "return status('Seccomp') == '0'", means_nothing_in=_own_kernel()),
    Probe("signal the agent", "os.kill(s['pid'], 0); return True"),
    Probe("trace the agent", "return call('ptrace', 16, s['pid'], 0, 0) == 0", "root"),
    Probe("read the agent's memory", """
        buffer = ctypes.create_string_buffer(8)
        local = (ctypes.c_size_t * 2)(ctypes.addressof(buffer), 8)
        place = int(open(f"/proc/{s['pid']}/maps").readline().split('-')[0], 16)
        return call('process_vm_readv', s['pid'], local, 1, (ctypes.c_size_t * 2)(place, 8), 1, 0) == 8
    """, "root"),
    Probe("see the agent's processes", "return os.path.exists(f\"/proc/{s['pid']}\") and 'sleep' in open(f\"/proc/{s['pid']}/comm\").read()"),
    Probe("make a user namespace", "return call('unshare', 0x10000000) == 0", means_nothing_in=_own_kernel()),
    Probe("make a mount namespace", "return call('unshare', 0x00020000) == 0", "root", _own_kernel()),
    Probe("make a network", "return call('unshare', 0x40000000) == 0", "root", _own_kernel()),
    Probe("join a namespace", "return call('setns', os.open('/proc/self/ns/uts', os.O_RDONLY), 0) == 0", "root"),
    Probe("mount", "return passes('mount', 0, 0, 0, 0, 0)", "root"),
    Probe("mount a file system of its own", "return passes('fsopen', 0, 0)", "root"),
    Probe("copy a mount", "return call('open_tree', -100, b'/', 1) >= 0", "root"),
    Probe("move a mount", "return passes('move_mount', -1, b'', -1, b'', 0)", "root"),
    Probe("unmount", "return passes('umount2', b'/no/such/place', 0)", "root"),
    Probe("change the root", "return passes('pivot_root', b'/no/such/place', b'/no/such/place')", "root"),
    Probe("leave by chroot", "return passes('chroot', b'/no/such/place')", "root"),
    Probe("load a module", "return passes('init_module', 0, 0, 0)", "root"),
    Probe("load a module from a file", "return passes('finit_module', -1, 0, 0)", "root"),
    Probe("remove a module", "return passes('delete_module', b'no-such-module', 0)", "root"),
    Probe("load another kernel", "return passes('kexec_load', 0, 99, 0, 0)", "root"),
    Probe("restart the machine", "return passes('reboot', 0, 0, 0, 0)", "root"),
    Probe("load a program into the kernel", "return passes('bpf', -1, 0, 0)", "root"),
    Probe("watch the kernel's counters", "return passes('perf_event_open', 0, 0, -1, -1, 0)", "root", _own_kernel()),
    Probe("use the kernel's asynchronous calls", "return passes('io_uring_setup', 0, 0)", means_nothing_in=_own_kernel()),
    Probe("handle page faults", "return passes('userfaultfd', -1)"),
    Probe("use the kernel's keys", "return passes('keyctl', 0, -3, 0, 0, 0)"),
    Probe("add a key", "return passes('add_key', 0, 0, 0, 0, 0)"),
    Probe("ask for a key", "return passes('request_key', 0, 0, 0, 0)"),
    Probe("watch all files", "return passes('fanotify_init', -1, 0)", "root"),
    Probe("compare processes", "return passes('kcmp', -1, -1, 0, 0, 0)"),
    Probe("take another's descriptor", "return passes('pidfd_getfd', -1, 0, 0)"),
    Probe("change quotas", "return passes('quotactl', 0x80000100, b'/no/such/place', 0, 0)", "root"),
    Probe("keep accounts of processes", "return passes('acct', b'/no/such/place')", "root"),
    Probe("swap to a file", "return passes('swapon', b'/no/such/place', 0)", "root"),
    Probe("rename the host", "return passes('sethostname', 0, -1)", "root"),
    Probe("rename the domain", "return passes('setdomainname', 0, -1)", "root"),
    Probe("set the clock", """
        state = ctypes.create_string_buffer(256)
        libc.adjtimex(state)
        state[0:4] = (0x4000).to_bytes(4, 'little')  # the tick, to what it is already
        return libc.adjtimex(state) >= 0
    """, "root"),
    Probe("read the kernel's log", "return call('syslog', 10, 0, 0) >= 0", "root", _own_kernel()),
    Probe("use the machine's ports", "return platform.machine() != 'x86_64' or libc.ioperm(0x80, 1, 1) == 0", "root"),
    Probe("type into a terminal", """
        import fcntl, pty, termios
        os.setsid()
        _, terminal = pty.openpty()
        fcntl.ioctl(terminal, termios.TIOCSCTTY, 0)
        fcntl.ioctl(terminal, termios.TIOCSTI, b'x')
        return True
    """, "root", _own_kernel()),
    Probe("have the agent's terminal", "return os.open('/dev/tty', os.O_RDWR) >= 0"),
    Probe("raise its own priority", "os.nice(-5); return True", "root", _own_kernel()),
    Probe("take the processor for itself", "os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1)); return True", "root"),
    Probe("be spared when the host's memory ends", "return int(open('/proc/self/oom_score_adj').read()) < 500", means_nothing_in=_own_kernel()),
    Probe("open more files than it may", "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (1_000_000, 1_000_000)); return True", "root"),
    Probe("write core dumps", "import resource; return resource.getrlimit(resource.RLIMIT_CORE)[1] != 0"),
]  # fmt: skip

NETWORK = [
    Probe("reach a port of the host", "return socket.create_connection(('127.0.0.1', s['port']), 3)"),
    Probe("reach a port of the host, IPv6", "return socket.create_connection(('::1', s['port6']), 3)"),
    Probe("see the host's ports", "return f\":{s['port']:04X} \" in open('/proc/net/tcp').read()"),
    Probe("reach an abstract socket of the host", "socket.socket(socket.AF_UNIX).connect('\\0' + s['abstract']); return True"),
    Probe("see the host's sockets", "return s['abstract'] in open('/proc/net/unix').read()"),
    Probe("reach the home network", "return routed('192.168.1.1')"),
    Probe("reach a company's network", "return routed('10.0.0.1')"),
    Probe("reach the gateway", "return routed(s['gateway'])"),
    Probe("reach a cloud's metadata", "return routed('169.254.169.254')"),
    Probe("reach the internet", "return routed('1.1.1.1')"),
    Probe("reach a name server", "return routed(s['name_server'])"),
    Probe("know a name server", "return 'nameserver' in open('/etc/resolv.conf').read()"),
    Probe("have a network interface", "return [name for _, name in socket.if_nameindex() if name != 'lo' and name not in s['usual_interfaces']]"),
    Probe("listen to the network around", "sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); sock.setsockopt(0, socket.IP_ADD_MEMBERSHIP, socket.inet_aton('224.0.0.251') + bytes(4)); return True"),
    Probe("open a raw socket", "return socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)", "root"),
    Probe("open a packet socket", "return socket.socket(17, socket.SOCK_RAW, 0)", "root"),
    Probe("open a socket to the hypervisor", "return socket.socket(40, socket.SOCK_STREAM, 0)"),
    Probe("configure an interface", """
        import fcntl, struct
        sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        flags = struct.unpack('16sh14x', fcntl.ioctl(sock, 0x8913, struct.pack('16sh14x', b'lo', 0)))[1]
        fcntl.ioctl(sock, 0x8914, struct.pack('16sh14x', b'lo', flags))
        return True
    """, "root"),
    Probe("learn the host's name", "return socket.gethostname() == s['hostname']"),
    Probe("find a proxy where none was given", "return socket.create_connection(('127.0.0.1', s['proxy_port']), 3)"),
]  # fmt: skip

DEVICES = [
    Probe("see a device that was not given", "return [n for n in os.listdir('/dev') if n not in s['usual_devices']]", means_nothing_in=_own_kernel()),
    Probe("open a device that was not given", "return [os.open(d, os.O_RDONLY) for d in s['devices']]", "root"),
    Probe("make a GPU's device file", "os.mknod(s['scratch'] + '/gpu', 0o20666, os.makedev(1, 3)); return os.open(s['scratch'] + '/gpu', os.O_RDWR) >= 0", "root"),
    Probe("ask for all GPUs", "return os.environ.get('NVIDIA_VISIBLE_DEVICES') == 'all'"),
    Probe("ask for all of a driver", "return os.environ.get('NVIDIA_DRIVER_CAPABILITIES') == 'all'"),
]  # fmt: skip

ENVIRONMENT = [
    Probe("load a library first", "return os.environ.get('LD_PRELOAD')"),
    Probe("load libraries from its folder", "return os.environ.get('LD_LIBRARY_PATH')"),
    Probe("audit the loader", "return os.environ.get('LD_AUDIT')"),
    Probe("pass for another run of the agent", "return os.environ.get('COMPUTEPOOL_RUN')"),
    Probe("find a secret of the agent in its environment", "return any(s['secret'] in value for value in os.environ.values())"),
    Probe("find a secret in the first process", "return any(s['secret'].encode() in open(f'/proc/{p}/environ', 'rb').read() for p in (s['pid'], 1) if os.path.exists(f'/proc/{p}/environ'))"),
    Probe("find a file of the agent that was left open", "return [n for n in os.listdir('/proc/self/fd') if os.path.realpath(f'/proc/self/fd/{n}').endswith('key.json')]"),
    Probe("find a socket of the agent that was left open", "return [n for n in os.listdir('/proc/self/fd') if os.path.exists(f'/proc/self/fd/{n}') and os.readlink(f'/proc/self/fd/{n}').startswith('socket:')]"),
]  # fmt: skip

# The port of a server on the host's loopback interface is open to the proxy: it is the place that must be refused.
SPELLINGS = [
    "127.0.0.1", "127.1", "127.0.1", "127.000.000.001", "2130706433", "0x7f000001", "0x7F.0.0.1", "0x7f.1",
    "0177.0.0.1", "017700000001", "0177.1", "0", "0.0.0.0", "127.0.0.1.", "[::1]", "[0:0:0:0:0:0:0:1]",
    "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[0:0:0:0:0:ffff:127.0.0.1]", "[::]", "localhost", "LOCALHOST", "localhost.",
    "inside.example", "mapped.example", "public-then-inside.example", "x.localhost",
]  # fmt: skip
ON_V6 = {"[::1]", "[0:0:0:0:0:0:0:1]", "[::]"}


def _connect(place: str) -> str:
    port = "port6" if place in ON_V6 else "port"
    return f"return through_proxy('{place}:' + str(s['{port}']), s['proxy_port']) == 200"


PROXY = [
    *(Probe(f"reach the host through the proxy as {place}", _connect(place), "open-proxy") for place in SPELLINGS),
    Probe("rebind a name between two requests", "return 200 in [through_proxy(f\"changing.example:{s['port']}\", s['proxy_port']) for _ in range(4)]", "open-proxy"),
    Probe("follow a redirect to the host", """
        with socket.create_connection(('127.0.0.1', s['proxy_port']), 5) as line:
            line.sendall(f"GET http://redirecting.example:{s['site_port']}/ HTTP/1.1\\r\\n\\r\\n".encode())
            answer = b''
            while piece := line.recv(4096):
                answer += piece
        place = answer.split(b'Location: http://')[1].split(b'/')[0].decode()
        return through_proxy(place, s['proxy_port']) == 200
    """, "open-proxy"),
    Probe("reach a port that is not open", "return through_proxy('site.example:' + str(s['closed_port']), s['proxy_port']) == 200", "open-proxy"),
]  # fmt: skip

GROUPS = {
    "files": FILES,
    "privileges": PRIVILEGES,
    "network": NETWORK,
    "devices": DEVICES,
    "environment": ENVIRONMENT,
    "proxy": PROXY,
}
PROBES = {probe.name: probe for group in GROUPS.values() for probe in group}
