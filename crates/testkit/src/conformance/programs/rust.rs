use std::io::BufRead;

fn main() {
    println!("ready");
    std::thread::sleep(std::time::Duration::from_secs(1));
    for line in std::io::stdin().lock().lines() {
        println!("got {}", line.unwrap());
    }
    for argument in std::env::args().skip(1) {
        println!("arg [{argument}]");
    }
    eprintln!("oops");
    std::process::exit(3);
}
