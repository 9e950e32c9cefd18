//! Rebuilds the crate when a migration is added: the compiler knows of the files that exist only.

fn main() {
    println!("cargo::rerun-if-changed=migrations");
}
