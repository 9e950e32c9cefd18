//! The ports of one database, implemented by the methods of the other modules.

use noetl_store::{each_port, implemented};

use crate::PgStore;

each_port!(implemented PgStore);
