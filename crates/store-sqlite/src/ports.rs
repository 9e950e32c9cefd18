//! The ports of the embedded store, implemented by the methods of the other modules.

use noetl_store::{each_port, implemented};

use crate::SqliteStore;

each_port!(implemented SqliteStore);
