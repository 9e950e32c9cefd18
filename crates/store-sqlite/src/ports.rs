//! The ports of the embedded store, implemented by the functions that all SQL
//! databases share and by the methods of the other modules.

use noetl_store::{each_port, implemented_by_sql};

use crate::SqliteStore;

each_port!(implemented_by_sql SqliteStore);
