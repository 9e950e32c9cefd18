//! The measurements, and the limits they are compared with in the same run.
