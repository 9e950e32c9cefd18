//! What messaging promises: a hint may be lost, repeated or reordered.
