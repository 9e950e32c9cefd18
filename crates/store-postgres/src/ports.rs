//! The ports of one database, implemented by the functions that all SQL databases share
//! and by the methods of the other modules.

use noetl_store::{each_port, implemented_by_sql};

use crate::PgStore;

each_port!(implemented_by_sql PgStore);
