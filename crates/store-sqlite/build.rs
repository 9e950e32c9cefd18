//! Rebuilds the crate when a migration is added: the compiler knows of the files that exist only.

#![expect(clippy::print_stdout, reason = "cargo reads the output of a build script")]

fn main() {
    println!("cargo::rerun-if-changed=migrations");
}
