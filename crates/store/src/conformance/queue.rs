//! Conformance cases of the queue of open commands.

use std::time::Duration;

use noetl_model::{Attempt, CommandId, Pool, WorkerId};

use super::Subject;
use super::given::{
    A, B, C, add, add_parked, add_to, add_with, after, at, held, lease, park, remove, start, unpark,
};
use crate::{Append, AppendError, HeldAnswer, Holder, QueueChange};

const LEASE: Duration = Duration::from_secs(30);

/// Starts an execution whose command 1 is leased until second 30.
async fn start_leased(subject: &Subject) {
    let queue = vec![add(1), lease(1, 1, 30)];
    assert_eq!(subject.append(Append { queue, ..start(A) }).await, Ok(()));
}

pub async fn a_command_is_ready_once_added(subject: Subject) {
    assert_eq!(subject.ready().await, []);
    assert_eq!(subject.append(Append { queue: vec![add(1)], ..start(A) }).await, Ok(()));
    assert_eq!(subject.ready().await, [(A.0, 1, 0)]);
}

pub async fn a_leased_command_is_not_ready(subject: Subject) {
    let queue = vec![add(1), add(2)];
    assert_eq!(subject.append(Append { queue, ..start(A) }).await, Ok(()));
    assert_eq!(
        subject.append(Append { queue: vec![lease(1, 1, 30)], ..after(A, 1) }).await,
        Ok(())
    );
    subject.at(29);
    assert_eq!(subject.ready().await, [(A.0, 2, 0)]);
}

pub async fn a_command_whose_lease_ran_out_is_ready_again(subject: Subject) {
    start_leased(&subject).await;
    subject.at(30);
    assert_eq!(subject.ready().await, [(A.0, 1, 1)]);
}

pub async fn expired_lease_can_be_taken_over_with_the_next_attempt(subject: Subject) {
    start_leased(&subject).await;
    subject.at(31);
    for wrong_attempt in [0, 1, 3] {
        let queue = vec![lease(1, wrong_attempt, 60)];
        let refused = subject.append(Append { queue, ..after(A, 1) }).await;
        assert_eq!(refused, Err(AppendError::Conflict), "attempt {wrong_attempt}");
    }
    assert_eq!(
        subject.append(Append { queue: vec![lease(1, 2, 29)], ..after(A, 1) }).await,
        Ok(())
    );
    assert_eq!(subject.ready().await, []);
    subject.at(60);
    assert_eq!(subject.ready().await, [(A.0, 1, 2)]);
}

pub async fn a_live_lease_refuses_a_second_claim(subject: Subject) {
    start_leased(&subject).await;
    subject.at(29);
    let second = Append { queue: vec![lease(1, 2, 60)], ..after(A, 1) };
    assert_eq!(subject.append(second).await, Err(AppendError::Conflict));
    assert_eq!(subject.read(A).await.len(), 1);
    assert_eq!(subject.extend(held(A, 1, 1), LEASE).await, HeldAnswer::Extended);
}

pub async fn heartbeat_prolongs(subject: Subject) {
    start_leased(&subject).await;
    subject.at(20);
    assert_eq!(subject.extend(held(A, 1, 1), LEASE).await, HeldAnswer::Extended);
    subject.at(49);
    assert_eq!(subject.ready().await, []);
    subject.at(50);
    assert_eq!(subject.ready().await, [(A.0, 1, 1)]);
}

pub async fn the_leases_of_a_worker_that_is_alive_are_renewed_and_no_others(subject: Subject) {
    let other = QueueChange::Lease {
        command: CommandId(2),
        attempt: Attempt(1),
        worker: WorkerId::new("worker-10"),
        lease: Duration::from_secs(30),
    };
    let queue = vec![add(1), lease(1, 1, 30), add(2), other, add(3), lease(3, 1, 5), add(4)];
    assert_eq!(subject.append(Append { queue, ..start(A) }).await, Ok(()));
    subject.at(10);
    let alive = WorkerId::new("worker-1");
    let renewed = subject.store.renew(&alive, Duration::from_secs(30)).await;
    assert_eq!(renewed.expect("the store renews"), 2, "one of them had run out");
    subject.at(39);
    assert_eq!(subject.ready().await, [(A.0, 2, 1), (A.0, 4, 0)]);
    subject.at(40);
    assert_eq!(subject.ready().await.len(), 4);
}

pub async fn the_leases_of_a_worker_that_is_gone_are_released_and_no_others(subject: Subject) {
    let other = QueueChange::Lease {
        command: CommandId(2),
        attempt: Attempt(1),
        worker: WorkerId::new("worker-10"),
        lease: Duration::from_secs(30),
    };
    let queue = vec![add(1), lease(1, 1, 30), add(2), other, add(3), lease(3, 1, 5)];
    assert_eq!(subject.append(Append { queue, ..start(A) }).await, Ok(()));
    assert_eq!(subject.append(Append { queue: vec![add(1)], ..start(B) }).await, Ok(()));
    subject.at(10);
    let gone = WorkerId::new("worker-1");
    let release = async || subject.store.release(&gone).await.expect("the store releases");
    assert_eq!(release().await, 1, "the lease of command 3 has run out already");
    assert_eq!(subject.ready().await, [(A.0, 3, 1), (B.0, 1, 0), (A.0, 1, 1)]);
    assert_eq!(release().await, 0);
    let queue = vec![lease(1, 2, 60)];
    assert_eq!(subject.append(Append { queue, ..after(A, 1) }).await, Ok(()));
}

pub async fn heartbeat_after_the_lease_ran_out_is_welcome_until_taken_over(subject: Subject) {
    start_leased(&subject).await;
    subject.at(100);
    assert_eq!(subject.extend(held(A, 1, 1), LEASE).await, HeldAnswer::Extended);
    assert_eq!(subject.ready().await, []);
}

pub async fn heartbeat_of_a_superseded_attempt_says_so(subject: Subject) {
    start_leased(&subject).await;
    subject.at(30);
    assert_eq!(
        subject.append(Append { queue: vec![lease(1, 2, 30)], ..after(A, 1) }).await,
        Ok(())
    );
    subject.at(50);
    assert_eq!(subject.extend(held(A, 1, 1), LEASE).await, HeldAnswer::Superseded);
    subject.at(60);
    assert_eq!(subject.ready().await, [(A.0, 1, 2)], "the old attempt has prolonged nothing");
}

pub async fn heartbeat_of_a_finished_command_says_gone(subject: Subject) {
    let queue = vec![add(1), lease(1, 1, 30), add(2), lease(2, 1, 30)];
    assert_eq!(subject.append(Append { queue, ..start(A) }).await, Ok(()));
    assert_eq!(subject.append(Append { queue: vec![remove(1)], ..after(A, 1) }).await, Ok(()));
    let all = [held(A, 1, 1), held(A, 2, 1), held(B, 2, 1)];
    let answers = subject.store.extend(&all, LEASE).await.expect("the store prolongs");
    assert_eq!(answers, [HeldAnswer::Gone, HeldAnswer::Extended, HeldAnswer::Gone]);
}

pub async fn parked_commands_are_never_ready(subject: Subject) {
    let queue = vec![add(1), park(1), add(2), lease(2, 1, 30), park(2)];
    assert_eq!(subject.append(Append { queue, ..start(A) }).await, Ok(()));
    subject.at(1000);
    assert_eq!(subject.ready().await, []);
    assert_eq!(subject.store.exhausted(0, 0, 10).await.expect("the store lists leases"), []);
    assert_eq!(subject.extend(held(A, 2, 1), LEASE).await, HeldAnswer::Superseded);
    let worker = WorkerId::new("worker-1");
    assert_eq!(subject.store.renew(&worker, LEASE).await.expect("the store renews"), 0);
    assert_eq!(subject.store.release(&worker).await.expect("the store releases"), 0);
    assert_eq!(subject.ready().await, []);
    for command in [lease(1, 1, 2000), lease(2, 2, 2000)] {
        let refused = subject.append(Append { queue: vec![command], ..after(A, 1) }).await;
        assert_eq!(refused, Err(AppendError::Conflict));
    }
}

pub async fn a_command_added_parked_is_ready_once_it_is_unparked(subject: Subject) {
    let queue = vec![add_parked(1), add(2), add_parked(3), park(2)];
    assert_eq!(subject.append(Append { queue, ..start(A) }).await, Ok(()));
    assert_eq!(subject.ready().await, []);
    subject.at(7);
    assert_eq!(subject.append(Append { queue: vec![unpark(1)], ..after(A, 1) }).await, Ok(()));
    assert_eq!(subject.ready().await, [(A.0, 1, 0)]);
    let work = subject.store.open_work(A).await.expect("the store lists work");
    let holder = |command| work.commands[&CommandId(command)].holder.clone();
    assert_eq!(holder(1), Holder::Nobody { since: at(7) }, "it waits since it was unparked");
    assert_eq!(holder(3), Holder::Parked);
    // Unparking and leasing in one append.
    let queue = vec![unpark(3), lease(3, 1, 30)];
    assert_eq!(subject.append(Append { queue, ..after(A, 2) }).await, Ok(()));
    for wrong in [unpark(1), unpark(3), unpark(9)] {
        let refused = subject.append(Append { queue: vec![wrong.clone()], ..after(A, 3) }).await;
        assert_eq!(refused, Err(AppendError::Conflict), "{wrong:?}");
    }
    // A command that a worker has had is not unparked: its next attempt is not its first.
    assert_eq!(subject.append(Append { queue: vec![park(3)], ..after(A, 3) }).await, Ok(()));
    let refused = subject.append(Append { queue: vec![unpark(3)], ..after(A, 4) }).await;
    assert_eq!(refused, Err(AppendError::Conflict));
}

pub async fn a_higher_priority_is_ready_first_and_rounds_are_within_one(subject: Subject) {
    let queue = vec![add_with(5, 1), add_with(5, 2), add_with(9, 3)];
    assert_eq!(subject.append(Append { queue, ..start(A) }).await, Ok(()));
    let queue = vec![add_with(0, 1), add_with(9, 2), lease(2, 1, 1), add_with(9, 3)];
    assert_eq!(subject.append(Append { queue, ..start(B) }).await, Ok(()));
    let queue = vec![add_with(5, 1), add_with(7, 2), lease(2, 1, 1)];
    assert_eq!(subject.append(Append { queue, ..start(C) }).await, Ok(()));
    let waiting = subject.store.waiting_executions(&Pool::shared(), 100).await;
    assert!((3..=5).contains(&waiting.expect("the store counts")));
    subject.at(1);
    let all = [
        (A.0, 3, 0),
        (B.0, 2, 1),
        (B.0, 3, 0),
        (C.0, 2, 1),
        (A.0, 1, 0),
        (C.0, 1, 0),
        (A.0, 2, 0),
        (B.0, 1, 0),
    ];
    assert_eq!(subject.ready().await, all);
    let ready = async |after, limit| {
        let ready = subject.store.ready(&Pool::shared(), after, limit).await;
        let ready = ready.expect("the store lists commands");
        ready.iter().map(|row| (row.execution.0, row.command.0)).collect::<Vec<_>>()
    };
    assert_eq!(
        ready(Some(A), 6).await,
        [(B.0, 2), (A.0, 3), (B.0, 3), (C.0, 2), (C.0, 1), (A.0, 1)]
    );
    for limit in 0..=all.len() {
        let expected: Vec<_> =
            all[..limit].iter().map(|(id, command, _)| (*id, *command)).collect();
        assert_eq!(ready(None, limit).await, expected);
    }
}

pub async fn changes_to_a_command_that_is_not_there_are_refused(subject: Subject) {
    assert_eq!(subject.append(Append { queue: vec![add(1)], ..start(A) }).await, Ok(()));
    assert_eq!(subject.append(start(B)).await, Ok(()));
    for (execution, change) in
        [(A, add(1)), (A, lease(2, 1, 30)), (A, park(2)), (B, lease(1, 1, 30)), (B, park(1))]
    {
        let refused = Append { queue: vec![change.clone()], ..after(execution, 1) };
        assert_eq!(subject.append(refused).await, Err(AppendError::Conflict), "{change:?}");
    }
}

pub async fn a_removed_command_is_gone_and_removing_it_again_is_fine(subject: Subject) {
    assert_eq!(subject.append(Append { queue: vec![add(1)], ..start(A) }).await, Ok(()));
    assert_eq!(subject.append(Append { queue: vec![remove(1)], ..after(A, 1) }).await, Ok(()));
    assert_eq!(subject.ready().await, []);
    let again = Append { queue: vec![remove(1), remove(9)], ..after(A, 2) };
    assert_eq!(subject.append(again).await, Ok(()));
}

pub async fn a_command_is_given_up_only_once_its_latest_lease_has_run_out(subject: Subject) {
    start_leased(&subject).await;
    let expire = |attempt| QueueChange::Expire { command: CommandId(1), attempt: Attempt(attempt) };
    let append = async |attempt| {
        subject.append(Append { queue: vec![expire(attempt)], ..after(A, 1) }).await
    };
    subject.at(29);
    assert_eq!(append(1).await, Err(AppendError::Conflict), "it lives");
    assert_eq!(subject.extend(held(A, 1, 1), LEASE).await, HeldAnswer::Extended);
    subject.at(58);
    assert_eq!(append(1).await, Err(AppendError::Conflict), "it was prolonged");
    subject.at(59);
    assert_eq!(append(2).await, Err(AppendError::Conflict), "it is not the latest");
    assert_eq!(append(1).await, Ok(()));
    assert_eq!(subject.ready().await, []);
}

pub async fn exhausted_lists_only_expired_leases_with_enough_attempts(subject: Subject) {
    let queue = vec![add(1), lease(1, 1, 10), add(2), lease(2, 1, 10), add(3), lease(3, 1, 90)];
    assert_eq!(subject.append(Append { queue, ..start(A) }).await, Ok(()));
    subject.at(10);
    let queue = vec![lease(1, 2, 20), lease(2, 2, 90), add(4)];
    assert_eq!(subject.append(Append { queue, ..after(A, 1) }).await, Ok(()));
    let queue = vec![add(1), lease(1, 1, 15)];
    assert_eq!(subject.append(Append { queue, ..start(B) }).await, Ok(()));
    subject.at(30);
    let exhausted = async |attempts, limit| {
        subject.store.exhausted(attempts, 0, limit).await.expect("the store lists leases")
    };
    assert_eq!(exhausted(2, 10).await, [held(A, 1, 2)]);
    assert_eq!(exhausted(1, 10).await, [held(B, 1, 1), held(A, 1, 2)]);
    assert_eq!(exhausted(1, 1).await, [held(B, 1, 1)]);
    assert_eq!(exhausted(3, 10).await, []);
    let second = subject.store.exhausted(1, 1, 10).await.expect("the store lists leases");
    assert_eq!(second, [held(A, 1, 2)]);
}

pub async fn ready_goes_round_the_executions_of_a_pool(subject: Subject) {
    let gpu = Pool::new("gpu");
    let queue = vec![add(1), add(4), lease(4, 1, 2), add(3), add(2), lease(2, 1, 1), add(5)];
    assert_eq!(subject.append(Append { queue, ..start(A) }).await, Ok(()));
    subject.at(1);
    let queue = vec![add(2), add_to(gpu.clone(), 3), add(1)];
    assert_eq!(subject.append(Append { queue, ..start(B) }).await, Ok(()));
    subject.at(3);
    assert_eq!(subject.append(Append { queue: vec![add(1)], ..start(C) }).await, Ok(()));
    // Within an execution, commands with expired leases come first.
    let [a1, a2, a3, a4, a5] = [(A.0, 2, 1), (A.0, 4, 1), (A.0, 1, 0), (A.0, 3, 0), (A.0, 5, 0)];
    let [b1, b2, c1] = [(B.0, 2, 0), (B.0, 1, 0), (C.0, 1, 0)];
    assert_eq!(subject.ready().await, [a1, b1, c1, a2, b2, a3, a4, a5]);
    let ready = async |after, limit| {
        let ready = subject.store.ready(&Pool::shared(), after, limit).await;
        let ready = ready.expect("the store lists commands");
        assert!(ready.iter().all(|row| row.pool == Pool::shared()));
        let rows = ready.iter().map(|row| (row.execution.0, row.command.0, row.attempt.0));
        rows.collect::<Vec<_>>()
    };
    assert_eq!(ready(Some(A), 9).await, [b1, c1, a1, b2, a2, a3, a4, a5]);
    assert_eq!(ready(Some(B), 4).await, [c1, a1, b1, a2]);
    assert_eq!(ready(Some(C), 2).await, [a1, b1]);
    assert_eq!(ready(None, 6).await, [a1, b1, c1, a2, b2, a3]);
    assert_eq!(ready(None, 0).await, []);
    assert_eq!(subject.ready_in(&gpu).await, [(B.0, 3, 0)]);
    assert_eq!(subject.ready_in(&Pool::new("none")).await, []);
}

pub async fn an_execution_with_many_commands_does_not_keep_others_waiting(subject: Subject) {
    let queue = (1..=2000).map(add).collect();
    assert_eq!(subject.append(Append { queue, ..start(A) }).await, Ok(()));
    for execution in [B, C] {
        assert_eq!(
            subject.append(Append { queue: vec![add(1)], ..start(execution) }).await,
            Ok(())
        );
    }
    // Takes one command at a time, each time continuing after the previous execution.
    let mut after = None;
    let mut given = Vec::new();
    for _ in 0..4 {
        let next = subject.store.ready(&Pool::shared(), after, 1).await.expect("commands");
        after = next.first().map(|row| row.execution);
        given.extend(after);
    }
    assert_eq!(given, [A, B, C, A]);
    let page = subject.store.ready(&Pool::shared(), None, 100).await.expect("commands");
    let given: Vec<_> = page.iter().map(|row| (row.execution.0, row.command.0)).collect();
    assert_eq!(given[..4], [(A.0, 1), (B.0, 1), (C.0, 1), (A.0, 2)]);
    assert_eq!((given.len(), given[99]), (100, (A.0, 98)));
}

pub async fn executions_that_wait_are_counted_up_to_a_limit(subject: Subject) {
    let gpu = Pool::new("gpu");
    let count = async |pool: &Pool, max| {
        subject.store.waiting_executions(pool, max).await.expect("the store counts")
    };
    assert_eq!(count(&Pool::shared(), 10).await, 0);
    let queue = vec![add(1), add(2), add(3), add_to(gpu.clone(), 4)];
    assert_eq!(subject.append(Append { queue, ..start(A) }).await, Ok(()));
    let queue = vec![add(1), lease(1, 1, 30)];
    assert_eq!(subject.append(Append { queue, ..start(B) }).await, Ok(()));
    assert_eq!(subject.append(Append { queue: vec![add(1)], ..start(C) }).await, Ok(()));
    assert_eq!(count(&Pool::shared(), 10).await, 2, "commands of one execution count once");
    assert_eq!(count(&Pool::shared(), 1).await, 1);
    assert_eq!(count(&Pool::shared(), 0).await, 0);
    assert_eq!(count(&gpu, 10).await, 1);
    assert_eq!(count(&Pool::new("none"), 10).await, 0);
}

pub async fn the_pools_with_a_command_to_lease_are_listed_once(subject: Subject) {
    let pools = async || subject.store.ready_pools().await.expect("the store answers");
    assert_eq!(pools().await, []);
    let (gpu, idle) = (Pool::new("gpu"), Pool::new("idle"));
    let queue = vec![add(1), add(2), add_to(gpu.clone(), 3), lease(3, 1, 30), add_to(idle, 4)];
    assert_eq!(subject.append(Append { queue, ..start(A) }).await, Ok(()));
    let parked = Append { queue: vec![park(4)], ..after(A, 1) };
    assert_eq!(subject.append(parked).await, Ok(()));
    assert_eq!(pools().await, [Pool::shared()]);
    subject.at(30);
    assert_eq!(pools().await, [gpu, Pool::shared()]);
}

pub async fn ready_commands_are_counted_by_priority(subject: Subject) {
    let counts = async || {
        let counts = subject.store.ready_by_priority(&Pool::shared()).await.expect("it answers");
        let counts = counts.iter().map(|it| (it.priority.level(), it.count, it.oldest.is_some()));
        counts.collect::<Vec<(u8, u64, bool)>>()
    };
    assert_eq!(counts().await, []);
    let gpu = add_to(Pool::new("gpu"), 5);
    let queue = vec![add_with(9, 1), add_with(0, 2), add_with(9, 3), add(4), lease(4, 1, 30), gpu];
    assert_eq!(subject.append(Append { queue, ..start(A) }).await, Ok(()));
    assert_eq!(counts().await, [(0, 1, true), (9, 2, true)], "the others are leased, or of a pool");
    subject.at(30);
    assert_eq!(counts().await, [(0, 1, true), (5, 1, false), (9, 2, true)], "a lease has expired");
}

pub async fn leases_and_the_oldest_command_of_a_pool_are_listed(subject: Subject) {
    let gpu = Pool::new("gpu");
    let oldest = async |pool: &Pool| subject.store.oldest_ready(pool).await.expect("it answers");
    let leased = async |limit| {
        let leased = subject.store.leased(limit).await.expect("the store answers");
        let keys = leased.iter().map(|it| (it.execution.0, it.command.0, it.attempt.0));
        keys.collect::<Vec<(i64, u64, u32)>>()
    };
    assert_eq!((oldest(&gpu).await, leased(10).await), (None, vec![]));
    let queue = vec![add(1), lease(1, 1, 30), add(2), lease(2, 1, 60), add_to(gpu.clone(), 3)];
    assert_eq!(subject.append(Append { queue, ..start(A) }).await, Ok(()));
    let since = oldest(&gpu).await.expect("a command waits");
    assert_eq!(oldest(&Pool::shared()).await, None, "all commands of the pool are leased");
    assert_eq!(leased(10).await, [(A.0, 2, 1), (A.0, 1, 1)]);
    assert_eq!(leased(1).await, [(A.0, 2, 1)]);
    subject.at(30);
    let queue = vec![add_to(gpu.clone(), 1)];
    assert_eq!(subject.append(Append { queue, ..start(B) }).await, Ok(()));
    assert_eq!(oldest(&gpu).await, Some(since), "the oldest counts");
    assert_eq!(leased(10).await, [(A.0, 2, 1)], "an expired lease holds nothing");
    let parked = Append { queue: vec![park(2)], ..after(A, 1) };
    assert_eq!(subject.append(parked).await, Ok(()));
    assert_eq!(leased(10).await, []);
}

pub async fn a_fresh_command_is_ready_even_if_the_clock_goes_back(subject: Subject) {
    subject.at(3600);
    assert_eq!(subject.append(Append { queue: vec![add(1)], ..start(A) }).await, Ok(()));
    subject.at(0);
    assert_eq!(subject.ready().await, [(A.0, 1, 0)]);
}
