"""The servers that bench/http/run compares: where their programs are, how one is started, checked and ended."""

import contextlib
import http.client
import os
import shutil
import socket
import subprocess
import tempfile
import time

from pairing import Failed, build_rust, complain

BY_CODE = ["corewise", "asio_one", "asio_each", "hyper"]  # these compute and block as well
SERVERS = [*BY_CODE, "nginx", "corewise_raw"]
JSON = "[" + ",".join(58 * ['{"name":"corewise","number":12345}']) + "]"  # as in server.hpp
ANSWERS_WITHIN = 10  # seconds

NGINX = """
daemon off;
worker_processes {threads};
pid {folder}/pid;
error_log stderr;
events {{ worker_connections 20000; }}
http {{
  access_log off;
  default_type text/plain;
  keepalive_requests 1000000000;
  keepalive_timeout 1h;
  client_header_timeout 1h;
  client_body_temp_path {folder}/body;
  proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi;
  scgi_temp_path {folder}/scgi;
  server {{
    listen 127.0.0.1:{port} reuseport backlog=4096;
    location = / {{ return 200 "hello\\n"; }}
    location = /json {{ return 200 '{json}'; }}
  }}
}}
"""


def program_of(name, build):
    """Returns the path of a server's program, or None where Debian's package for it is missing."""
    if name == "hyper":
        return build_rust("http/hyper", "http_hyper", "hyper")
    if name == "nginx":
        path = shutil.which("nginx", path=os.environ.get("PATH", "") + ":/usr/sbin")
        if path is None:
            complain("no nginx, which is left out; see .ci/install bench")
        return path
    path = os.path.join(build, "bench", "http_" + name)
    if not os.access(path, os.X_OK):
        raise Failed(f"{path} is not built; name the build with --build")
    return path


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


@contextlib.contextmanager
def running(name, program, threads, before=()):
    """Starts a server, and ends it. `before`: words before its command, for example those of taskset. Gives its port and its
    process."""
    with tempfile.TemporaryDirectory() as folder:
        if name == "nginx":
            port = free_port()
            with open(os.path.join(folder, "nginx.conf"), "w", encoding="ascii") as file:
                file.write(NGINX.format(threads=threads, folder=folder, port=port, json=JSON))
            command = [program, "-e", "stderr", "-c", file.name]
        else:
            command = [program, "0", str(threads)]
        with subprocess.Popen([*before, *command], stdout=subprocess.PIPE, text=True) as server:
            try:
                yield port if name == "nginx" else int(server.stdout.readline() or 0), server.pid
            finally:
                server.terminate()


def check(port, path):
    """Fails if the server gives a wrong answer, or none for some seconds."""
    until = time.monotonic() + ANSWERS_WITHIN
    while True:
        asked = http.client.HTTPConnection("127.0.0.1", port, timeout=ANSWERS_WITHIN)
        try:
            asked.request("GET", path)
            answer = asked.getresponse()
            got = answer.status, answer.read().decode()
            break
        except ConnectionRefusedError:
            if time.monotonic() > until:
                raise Failed(f"no server answers on port {port}") from None
            time.sleep(0.02)
        finally:
            asked.close()
    right = (200, JSON if path == "/json" else "hello\n")
    if got != right:
        raise Failed(f"{path} is answered with {got}, right is {right}")


@contextlib.contextmanager
def idle_connections(port, count, asks=False):
    """Opens connections; with `asks`, each has made a request, and its response was read."""
    with contextlib.ExitStack() as all_of_them:
        for _ in range(count):
            peer = all_of_them.enter_context(socket.create_connection(("127.0.0.1", port)))
            if asks:
                peer.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
                got = b""
                while not got.endswith(b"hello\n"):
                    more = peer.recv(4096)
                    if not more:
                        raise Failed("a connection ended without a response")
                    got += more
        yield


def processes_of(pid):
    """Returns a process and its descendants."""
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        return [pid] + [one for child in file.read().split() for one in processes_of(int(child))]


def resident_bytes(pid):
    """Returns the resident memory of a server, without what its processes share."""
    total = 0
    for process in processes_of(pid):
        with open(f"/proc/{process}/smaps_rollup", encoding="ascii") as file:
            total += sum(1024 * int(line.split()[1]) for line in file if line.startswith("Private_"))
    return total


def wakeups(pid):
    """Returns how often the threads of a server have gone to sleep since they began."""
    count = 0
    for process in processes_of(pid):
        for thread in os.listdir(f"/proc/{process}/task"):
            with open(f"/proc/{process}/task/{thread}/status", encoding="ascii") as file:
                count += sum(int(line.split()[1]) for line in file if line.startswith("voluntary_ctxt_switches"))
    return count
