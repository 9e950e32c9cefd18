//! The ports of a sharded store. Rows of one execution are in its shard, and rows that belong to no
//! execution are in the cluster's database; the other modules implement what needs several databases.

use noetl_store::each_port;
use noetl_store::signature::*;

use super::Shards;

/// Sends one call to the database that has its rows.
macro_rules! routed_call {
    ($port:ident, across, $shards:ident, $name:ident($($argument:ident),*)) => {
        Shards::$name($shards, $($argument),*).await
    };
    ($port:ident, cluster, $shards:ident, $name:ident($($argument:ident),*)) => {
        $shards.in_cluster(noetl_store::$port::$name(&$shards.cluster, $($argument),*)).await
    };
    ($port:ident, shard, $shards:ident, $name:ident($execution:ident $(, $argument:ident)*)) => {{
        let shard = $shards.shard($execution);
        let answer = noetl_store::$port::$name(shard, $execution $(, $argument)*);
        $shards.in_shard($execution, answer).await
    }};
}

macro_rules! routed {
    (; $($port:ident {
        async {
            $($access:ident $place:ident $home:ident $name:ident($($argument:ident: $type:ty),*)
                -> $answer:ty;)*
        }
        sync {
            $($kind:ident $sync_name:ident($($sync_argument:ident: $sync_type:ty),*)
                -> $sync_answer:ty;)*
        }
    })*) => {$(
        #[noetl_store::async_trait]
        impl noetl_store::$port for Shards {
            $(async fn $name(&self, $($argument: $type),*) -> Result<$answer, StoreError> {
                routed_call!($port, $place, self, $name($($argument),*))
            })*

            $(fn $sync_name(&self, $($sync_argument: $sync_type),*) -> $sync_answer {
                Shards::$sync_name(self, $($sync_argument),*)
            })*
        }
    )*};
}

each_port!(routed);
