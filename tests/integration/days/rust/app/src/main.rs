// SPDX-License-Identifier: Apache-2.0
fn main() {
    println!("{}, {}", greet::greet(), tiny::KIND);
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::process::Command;
    use std::thread;

    #[test]
    fn crates() {
        assert_eq!(greet::greet(), "hello from a crate");
    }

    #[test]
    fn threads() {
        let all: Vec<_> = (0..100u64).map(|n| thread::spawn(move || n * n)).collect();
        let sum: u64 = all.into_iter().map(|one| one.join().unwrap()).sum();
        assert_eq!(sum, 328350);
    }

    #[test]
    fn processes() {
        let output = Command::new("sh").args(["-c", "echo $((40 + 2))"]).output().unwrap();
        assert_eq!(output.stdout, b"42\n");
    }

    #[test]
    fn loopback() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let server = thread::spawn(move || listener.accept().unwrap().0.write_all(b"hello"));
        let mut said = String::new();
        TcpStream::connect(address).unwrap().read_to_string(&mut said).unwrap();
        server.join().unwrap().unwrap();
        assert_eq!(said, "hello");
    }
}
