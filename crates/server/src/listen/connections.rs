//! Counts of the open connections: in total and per address.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::listen::limits::Limits;

/// Mask of an IPv6 address that identifies a client: /64 is the smallest network that is assigned.
const CLIENT_BITS: u128 = u128::MAX << 64;

/// Counts and limits open connections.
#[derive(Clone)]
pub(crate) struct OpenConnections {
    slots: Arc<Semaphore>,
    per_address_max: usize,
    by_address: Arc<Mutex<HashMap<IpAddr, usize>>>,
}

/// A permit for one open connection, for any address.
pub(crate) struct Slot {
    _permit: OwnedSemaphorePermit,
}

/// An open connection of an address; counted until dropped.
pub(crate) struct OpenConnection {
    of: OpenConnections,
    address: IpAddr,
    _slot: Slot,
}

impl OpenConnections {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self {
            slots: Arc::new(Semaphore::new(limits.connections_max)),
            per_address_max: limits.connections_per_address_max,
            by_address: Arc::default(),
        }
    }

    /// Waits until another connection may be open.
    pub(crate) async fn slot(&self) -> Slot {
        let permit = self.slots.clone().acquire_owned().await.expect("nobody closes it");
        Slot { _permit: permit }
    }

    /// Counts a connection of an address; `None` if the address has reached its limit.
    pub(crate) fn open(&self, slot: Slot, address: IpAddr) -> Option<OpenConnection> {
        let address = client_of(address);
        let mut by_address = self.by_address();
        let count = by_address.entry(address).or_default();
        if *count >= self.per_address_max {
            return None;
        }
        *count += 1;
        drop(by_address);
        Some(OpenConnection { of: self.clone(), address, _slot: slot })
    }

    fn by_address(&self) -> MutexGuard<'_, HashMap<IpAddr, usize>> {
        self.by_address.lock().expect("nothing panics while it counts")
    }
}

impl Drop for OpenConnection {
    fn drop(&mut self) {
        if let Entry::Occupied(mut count) = self.of.by_address().entry(self.address) {
            *count.get_mut() -= 1;
            if *count.get() == 0 {
                count.remove();
            }
        }
    }
}

/// Returns the address under which a client's connections are counted.
fn client_of(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => IpAddr::V4(address),
        IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & CLIENT_BITS)),
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    fn counting(connections_max: usize, connections_per_address_max: usize) -> OpenConnections {
        let limits = Limits { connections_max, connections_per_address_max, ..Limits::default() };
        OpenConnections::new(&limits)
    }

    fn open(connections: &OpenConnections, address: &str) -> Option<OpenConnection> {
        let slot = connections.slot().now_or_never().expect("there is a slot");
        connections.open(slot, address.parse().expect("an address"))
    }

    #[test]
    fn one_address_has_so_many_and_others_are_not_kept_waiting() {
        let connections = counting(10, 2);
        let first = open(&connections, "192.0.2.1").expect("the first");
        let _second = open(&connections, "::ffff:192.0.2.1").expect("the second");
        assert!(open(&connections, "192.0.2.1").is_none());
        let _other = open(&connections, "192.0.2.2").expect("another address");
        drop(first);
        assert!(open(&connections, "192.0.2.1").is_some());
    }

    #[test]
    fn the_addresses_of_one_network_are_one_client() {
        let connections = counting(10, 1);
        let first = open(&connections, "2001:db8:0:1::1").expect("the first");
        assert!(open(&connections, "2001:db8:0:1:ffff::2").is_none());
        assert!(open(&connections, "2001:db8:0:2::1").is_some());
        drop(first);
        assert_eq!(connections.by_address().len(), 0, "nothing is kept of who is gone");
    }

    #[test]
    fn all_together_have_so_many() {
        let connections = counting(1, 10);
        let first = open(&connections, "192.0.2.1");
        assert!(connections.slot().now_or_never().is_none());
        drop(first);
        assert!(connections.slot().now_or_never().is_some());
    }
}
