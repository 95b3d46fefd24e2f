fun main(args: Array<String>) {
    println("ready")
    Thread.sleep(1000)
    generateSequence(::readLine).forEach { println("got $it") }
    args.forEach { println("arg [$it]") }
    System.err.println("oops")
    System.exit(3)
}
