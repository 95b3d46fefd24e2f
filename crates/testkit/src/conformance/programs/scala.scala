object Behaviour {
  def main(args: Array[String]): Unit = {
    println("ready")
    Thread.sleep(1000)
    io.Source.stdin.getLines.foreach(line => println(s"got $line"))
    args.foreach(argument => println(s"arg [$argument]"))
    System.err.println("oops")
    sys.exit(3)
  }
}
