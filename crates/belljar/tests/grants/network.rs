//! Hosts that a run may connect to, and all others.

use testkit::arena::Setup;
use testkit::run::{Ending, Running};

use crate::world::World;

/// What every program here can do.
const TOOLS: &str = "\
import http.client, os, socket, sys, urllib.error, urllib.request
def get(url, **headers):
    try:
        request = urllib.request.Request(url, headers=headers)
        return urllib.request.urlopen(request, timeout=10).read().decode().strip()
    except urllib.error.HTTPError as error:
        return '%d %s' % (error.code, error.read().decode().strip())
    except OSError as error:
        return type(error).__name__
def tunnel(host, port):
    connection = http.client.HTTPConnection('127.0.0.1', 3128, timeout=10)
    connection.set_tunnel(host, port)
    try:
        connection.request('GET', '/in/tunnel', headers={'Host': 'tunnel'})
        return connection.getresponse().read().decode().strip()
    except OSError as error:
        return str(error)
";

fn program(code: &str) -> String {
    format!("{TOOLS}{code}")
}

fn granted_hosts_are_reached(setup: Setup) {
    let Some(world) = World::open(setup) else { return };
    let code = program(
        "\
print(get('http://allowed.example/a?b=c', **{'Proxy-Secret': 'x', 'Proxy-Authorization': 'x', 'X-Kept': 'y'}))
print(get('http://allowed.example:80?q'))
print(tunnel('allowed.example', 443))
print(tunnel('sub.allowed.example', 8443))
print([name for name in ('HTTP_PROXY', 'https_proxy', 'ALL_PROXY', 'no_proxy') if name not in os.environ])
",
    );
    let outcome = world.run("allowed.example,*.allowed.example:8443", &code);
    outcome.assert_ended(Ending::completed(0));
    let expected = "\
203.0.113.10:80 | GET /a?b=c HTTP/1.1 | Host: allowed.example
proxy-secret: x
x-kept: y
connection: close
203.0.113.10:80 | GET /?q HTTP/1.1 | Host: allowed.example:80
connection: close
203.0.113.10:443 | GET /in/tunnel HTTP/1.1 | Host: tunnel
203.0.113.10:8443 | GET /in/tunnel HTTP/1.1 | Host: tunnel
[]
";
    assert_eq!((&*outcome.stdout, &*outcome.stderr), (expected, ""));
    assert_eq!(outcome.isolation.granted, ["network allowed.example", "network *.allowed.example:8443"]);
    assert_eq!(world.reached(), ["203.0.113.10:443", "203.0.113.10:80", "203.0.113.10:8443"]);
    world.stage.assert_unharmed();
}

const NODE: &str = "\
const http = require('http');
const first = (text) => text.split('\\n')[0];
const got = (url) => fetch(url).then((answer) => answer.text()).then(first).catch((error) => error.cause.message);
const older = (url) => new Promise((done) => {
  http.get(url, (answer) => answer.setEncoding('utf8').on('data', (text) => done(first(text)))).on('error', (error) => done(error.message));
});
(async () => {
  for (const get of [got, older]) {
    for (const url of ['http://allowed.example/n', 'http://other.example/', 'http://127.0.0.1:8123/']) console.log(await get(url));
  }
  console.log(extra);
  server.close();
  server.closeAllConnections();
})();
const server = http.createServer((_, answer) => answer.end('its own')).listen(8123, '127.0.0.1');
";

/// Node looks at no variables before version 24, and goes the same way.
#[test]
fn node_too() {
    let Some(world) = World::open(Setup::Unprivileged) else { return };
    let command =
        ["run", "--json", "-l", "javascript", "--network", "allowed.example", "--variable", "extra=1", "-c", NODE];
    let outcome = Running::start(world.command(&command)).finish().outcome(world.stage.level().name());
    outcome.assert_ended(Ending::completed(0));
    let reached = |host: &str| format!("203.0.113.10:80 | GET /n HTTP/1.1 | {host}: allowed.example");
    let refused = "`other.example:80` is not among the hosts that this run may connect to";
    let expected = [&reached("host"), refused, "its own", &reached("Host"), refused, "its own", "1", ""].join("\n");
    assert_eq!((&*outcome.stdout, &*outcome.stderr), (&*expected, ""));
    assert_eq!(world.reached(), ["203.0.113.10:80"]);
}

/// With a way to one host, there is none to any other, nor inside, whatever a name leads to.
fn no_other_hosts(setup: Setup) {
    let Some(world) = World::open(setup) else { return };
    let code = program(
        r"
for host in ('other.example', 'localhost.', '127.0.0.2', '[::1]', '10.9.8.7', '169.254.169.254', '203.0.113.10', '203.0.113.20', '2130706433', 'metadata.google.internal'):
    print(get('http://%s/' % host).split(' ')[0], tunnel(host.strip('[]'), 443).split(': ')[-1][:13])
for host in ('rebound.example', 'inside.example', 'meta.example'):
    print(get('http://%s/' % host))
    print(tunnel(host, 443).split(': ')[-1])
print(get('http://allowed.example:8443/'))
print(tunnel('allowed.example', 22).split(': ')[-1])
",
    );
    let granted = "allowed.example,rebound.example,inside.example,meta.example,localhost";
    let outcome = world.run(granted, &code);
    outcome.assert_ended(Ending::completed(0));
    let mut expected = String::new();
    for host in ["other", "localhost", "127", "::1", "10", "169", "203", "203"] {
        expected += if host == "::1" { "403 400 Bad Reque\n" } else { "403 403 Forbidden\n" };
    }
    expected += "400 400 Bad Reque\n403 403 Forbidden\n";
    for host in ["rebound", "inside", "meta"] {
        let why = "has no public address, and is no private registry of this server's configuration";
        expected += &[&format!("403 `{host}.example:80` {why}"), "403 Forbidden", ""].join("\n");
    }
    expected += "403 `allowed.example:8443` is not among the hosts that this run may connect to\n403 Forbidden\n";
    assert_eq!((&*outcome.stdout, &*outcome.stderr), (&*expected, ""));
    assert_eq!(world.reached(), Vec::<String>::new());
    world.stage.assert_unharmed();
}

/// A machine's public address leads to what listens on all of its addresses, behind what keeps others from it.
#[test]
fn not_this_machine_by_its_own_address() {
    let Some(world) = World::open(Setup::Unprivileged) else { return };
    for (host, granted) in [("own", "own.example"), ("own", "*"), ("second", "second.example"), ("second", "*")] {
        let code =
            format!("print(get('http://{host}.example/'))\nprint(tunnel('{host}.example', 443).split(': ')[-1])");
        let outcome = world.run(granted, &program(&code));
        let why = "has no public address, and is no private registry of this server's configuration";
        assert_eq!(outcome.stdout, format!("403 `{host}.example:80` {why}\n403 Forbidden\n"), "{granted}");
        assert_eq!(world.reached(), Vec::<String>::new(), "{granted}");
    }
}

/// `*` is every public host: by name or address, and nothing else.
fn any_public_host(setup: Setup) {
    let Some(world) = World::open(setup) else { return };
    let code = program(
        r"
for host in ('allowed.example', 'other.example', '203.0.113.20', 'localhost.', '127.0.0.2', '[::1]', '10.9.8.7', '169.254.169.254', 'rebound.example', 'inside.example', 'meta.example', 'metadata.google.internal', '[::ffff:127.0.0.1]', '0.0.0.0'):
    print(get('http://%s/' % host).split(' ')[0])
",
    );
    let outcome = world.run("*", &code);
    let expected = "203.0.113.10:80\n203.0.113.20:80\n203.0.113.20:80\n".to_owned() + &"403\n".repeat(11);
    assert_eq!((&*outcome.stdout, &*outcome.stderr), (&*expected, ""));
    assert_eq!(outcome.isolation.granted, ["network *"]);
    assert_eq!(world.reached(), ["203.0.113.10:80", "203.0.113.20:80"]);
    world.stage.assert_unharmed();
}

/// There is one way out, for one kind of traffic.
fn no_other_ways(setup: Setup) {
    let Some(world) = World::open(setup) else { return };
    let code = program(
        r"
for family, kind, address in (
    (socket.AF_INET, socket.SOCK_STREAM, ('203.0.113.10', 80)),
    (socket.AF_INET, socket.SOCK_STREAM, ('127.0.0.1', 80)),
    (socket.AF_INET, socket.SOCK_STREAM, ('10.9.8.7', 80)),
    (socket.AF_INET, socket.SOCK_DGRAM, ('203.0.113.10', 53)),
    (socket.AF_INET, socket.SOCK_DGRAM, ('127.0.0.1', 53)),
):
    with socket.socket(family, kind) as out:
        out.settimeout(5)
        try:
            out.connect(address)
            for _ in range(3):
                out.send(b'x')
            print('reached', address)
        except OSError:
            pass
for name in ('allowed.example', 'other.example'):
    try:
        print('resolved', socket.getaddrinfo(name, 80))
    except OSError:
        pass
def say(text):
    with socket.create_connection(('127.0.0.1', 3128), 5) as out:
        out.sendall(text)
        out.shutdown(socket.SHUT_WR)
        answer = b''
        while more := out.recv(1 << 16):
            answer += more
        return answer.split(b'\r\n')[0].decode()
again = b'GET http://other.example/ HTTP/1.1\r\nHost: other.example\r\n\r\n'
print(say(b'GET http://allowed.example/ HTTP/1.1\r\nHost: other.example\r\n\r\n' + again))
print(say(b'GET http://allowed.example@other.example/ HTTP/1.1\r\n\r\n'))
print(say(b'GET http://other.example/ HTTP/1.1\r\nHost: allowed.example\r\n\r\n'))
print(say(b'GET http://other.example\\@allowed.example/ HTTP/1.1\r\n\r\n'))
print(say(b'GET / HTTP/1.1\r\nHost: allowed.example\r\n\r\n'))
print(say(b'GET https://allowed.example/ HTTP/1.1\r\n\r\n'))
print(say(b'\x05\x01\x00'))
print(open('/proc/net/route').read().count('\n') if os.path.exists('/proc/net/route') else 1)
",
    );
    let outcome = world.run("allowed.example", &code);
    let expected = "\
HTTP/1.1 200 OK
HTTP/1.1 400 Bad Request
HTTP/1.1 403 Forbidden
HTTP/1.1 400 Bad Request
HTTP/1.1 403 Forbidden
HTTP/1.1 403 Forbidden
HTTP/1.1 400 Bad Request
1
";
    assert_eq!((&*outcome.stdout, &*outcome.stderr), (expected, ""));
    assert_eq!(world.reached(), ["203.0.113.10:80", "203.0.113.10:80 more"]);
    world.stage.assert_unharmed();
}

/// Without a grant nothing is there: no way, and no word of one.
fn nothing_by_itself(setup: Setup) {
    let Some(world) = World::open(setup) else { return };
    let code = program(
        "\
print(get('http://allowed.example/'), tunnel('allowed.example', 443))
print([name for name in os.environ if 'proxy' in name.lower()])
",
    );
    let outcome = world.run("", &code);
    assert_eq!((&*outcome.stdout, &*outcome.stderr), ("URLError [Errno 111] Connection refused\n[]\n", ""));
    assert_eq!(outcome.isolation.granted, Vec::<String>::new());
    assert_eq!(world.reached(), Vec::<String>::new());
    world.stage.assert_unharmed();
}

testkit::in_both_setups! {
    granted_hosts_are_reached;
    no_other_hosts;
    any_public_host;
    no_other_ways;
    nothing_by_itself;
}
