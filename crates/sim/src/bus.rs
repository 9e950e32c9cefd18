//! A bus that loses, repeats, delays and reorders hints.

use std::sync::Arc;

use async_trait::async_trait;
use noetl_bus::{Bus, Hint, HintReceiver, LocalBus};

use crate::faults::FaultPlan;

pub(crate) struct FaultyBus {
    pub(crate) bus: LocalBus,
    pub(crate) faults: Arc<FaultPlan>,
}

#[async_trait]
impl Bus for FaultyBus {
    async fn publish(&self, hint: Hint) {
        let rates = self.faults.rates;
        if self.faults.strikes(rates.hint_lost) {
            return;
        }
        if self.faults.strikes(rates.hint_repeated) {
            self.bus.publish(hint.clone()).await;
        }
        if self.faults.strikes(rates.hint_late) {
            let (bus, delay) = (self.bus.clone(), self.faults.millis(1..5000));
            drop(tokio::spawn(async move {
                tokio::time::sleep(delay).await;
                bus.publish(hint).await;
            }));
        } else {
            self.bus.publish(hint).await;
        }
    }

    fn subscribe(&self) -> HintReceiver {
        self.bus.subscribe()
    }
}
