using System;

class Behaviour {
    static int Main(string[] args) {
        Console.WriteLine("ready");
        System.Threading.Thread.Sleep(1000);
        for (string line; (line = Console.ReadLine()) != null;) Console.WriteLine("got " + line);
        foreach (var argument in args) Console.WriteLine("arg [" + argument + "]");
        Console.Error.WriteLine("oops");
        return 3;
    }
}
