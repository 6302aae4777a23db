#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""An S3 server on loopback: OpenStack Swift with its s3api (Debian's python3-swift), all four of its
servers in one process, all of its files in one folder. Usage: s3_server.py FOLDER [PORT]. Prints one
line, "listening PORT", when it answers, and ends when its standard input does.

SIGUSR1 sets its clock an hour ahead, SIGUSR2 right again.

Access key test:tester, secret "testing" (may do all); test:reader, secret "reading" (no rights).
"""
import os
import signal
import sys
import time

import eventlet
eventlet.monkey_patch()

real_time = time.time
ahead = 0
time.time = lambda: real_time() + ahead

from swift.common.ring import RingBuilder  # noqa: E402
from swift.common.wsgi import loadapp  # noqa: E402

REGION = "us-east-1"

PROXY = """
[DEFAULT]
swift_dir = {folder}
bind_ip = 127.0.0.1
bind_port = {port}
[pipeline:main]
pipeline = catch_errors listing_formats s3api tempauth copy slo proxy-server
[app:proxy-server]
use = egg:swift#proxy
account_autocreate = true
allow_account_management = true
conn_timeout = 10
[filter:catch_errors]
use = egg:swift#catch_errors
[filter:listing_formats]
use = egg:swift#listing_formats
[filter:s3api]
use = egg:swift#s3api
location = {region}
s3_acl = false
min_segment_size = 5242880
check_bucket_owner = false
auth_pipeline_check = false
allow_multipart_uploads = true
[filter:tempauth]
use = egg:swift#tempauth
user_test_tester = testing .admin
user_test_reader = reading
[filter:copy]
use = egg:swift#copy
[filter:slo]
use = egg:swift#slo
min_segment_size = 1
"""

SERVER = """
[DEFAULT]
swift_dir = {folder}
devices = {folder}/devices
mount_check = false
bind_ip = 127.0.0.1
bind_port = {port}
[pipeline:main]
pipeline = server
[app:server]
use = egg:swift#{kind}
"""

SWIFT_CONF = """
[swift-hash]
swift_hash_path_prefix = tracecore
swift_hash_path_suffix = tests
[storage-policy:0]
name = one
default = yes
"""


class Cache:
    """What Swift asks a memcached for, in memory: one process needs no other."""

    def __init__(self, app):
        self.app = app
        self.values = {}

    def __call__(self, env, start_response):
        env["swift.cache"] = self
        return self.app(env, start_response)

    def get(self, key, *_, **__):
        return self.values.get(key)

    def set(self, key, value, *_, **__):
        self.values[key] = value

    def delete(self, key, *_, **__):
        self.values.pop(key, None)

    def incr(self, key, delta=1, *_, **__):
        self.values[key] = int(self.values.get(key, 0)) + delta
        return self.values[key]


def write(path, text):
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)


def set_clock(number, _frame):
    global ahead
    ahead = 3600 if number == signal.SIGUSR1 else 0


def main():
    folder = os.path.abspath(sys.argv[1])
    os.makedirs(folder + "/devices/d1", exist_ok=True)
    write(folder + "/swift.conf", SWIFT_CONF)
    # Swift looks for this file in /etc/swift; the modules that were loaded have their own copy.
    import swift.common.utils as utils
    utils.SWIFT_CONF_FILE = folder + "/swift.conf"
    utils.validate_hash_conf()
    from swift.common import storage_policy
    storage_policy.SWIFT_CONF_FILE = utils.SWIFT_CONF_FILE
    storage_policy.reload_storage_policies()

    def listen(port=0):
        return eventlet.listen(("127.0.0.1", port), backlog=128)

    def serve(socket, app):
        eventlet.spawn(eventlet.wsgi.server, socket, app, log_output=False, debug=False)

    for kind in ("account", "container", "object"):
        socket = listen()
        port = socket.getsockname()[1]
        builder = RingBuilder(part_power=1, replicas=1, min_part_hours=0)
        builder.add_dev({"id": 0, "region": 1, "zone": 1, "weight": 1, "ip": "127.0.0.1",
                         "port": port, "device": "d1"})
        builder.rebalance()
        builder.get_ring().save("%s/%s.ring.gz" % (folder, kind))
        path = "%s/%s-server.conf" % (folder, kind)
        write(path, SERVER.format(folder=folder, port=port, kind=kind))
        serve(socket, loadapp(path))
    proxy = listen(int(sys.argv[2]) if len(sys.argv) > 2 else 0)
    port = proxy.getsockname()[1]
    path = folder + "/proxy-server.conf"
    write(path, PROXY.format(folder=folder, port=port, region=REGION))
    serve(proxy, Cache(loadapp(path)))
    signal.signal(signal.SIGUSR1, set_clock)
    signal.signal(signal.SIGUSR2, set_clock)
    print("listening", port, flush=True)
    # Read by a real thread: the servers go on meanwhile.
    eventlet.tpool.execute(sys.stdin.buffer.read)
    os._exit(0)


if __name__ == "__main__":
    main()
