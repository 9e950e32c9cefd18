//! The ports of the in-memory store, implemented by the methods of the other modules.

use super::MemoryStore;
use crate::{each_port, implemented};

each_port!(implemented MemoryStore);
