import core.thread, std.stdio;

int main(string[] arguments) {
    writeln("ready");
    Thread.sleep(1.seconds);
    foreach (line; stdin.byLine) writeln("got ", line);
    foreach (argument; arguments[1 .. $]) writeln("arg [", argument, "]");
    stderr.writeln("oops");
    return 3;
}
