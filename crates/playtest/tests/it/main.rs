//! Tests of the test runner: from a playbook and a test file to faults.

mod coverage;
mod examples;
mod faults;
mod files;
mod histories;
