use super::*;

async fn settle() {
    for _ in 0..50 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn runs_wait_then_are_refused() {
    let gate = Admission::new(1, Allowances::default(), WhenFull::Refuse);
    let running = gate.enter("a").await.unwrap();
    let mut queue: Vec<_> = (0..WAITING_PER_RUN)
        .map(|_| {
            let gate = gate.clone();
            tokio::spawn(async move { gate.enter("a").await.map(drop) })
        })
        .collect();
    while gate.waiting() < WAITING_PER_RUN {
        tokio::task::yield_now().await;
    }
    let busy = AdmissionError::Busy { running: 1, waiting: WAITING_PER_RUN };
    assert_eq!(gate.enter("a").await.err(), Some(busy));

    // A cancelled call makes room for another.
    let gone = queue.pop().unwrap();
    gone.abort();
    assert!(gone.await.unwrap_err().is_cancelled());
    assert_eq!(gate.waiting(), WAITING_PER_RUN - 1);

    drop(running);
    for waiting in queue {
        waiting.await.unwrap().unwrap();
    }
    assert_eq!((gate.waiting(), gate.running()), (0, 0));
    assert!(gate.queue.state().accounts.is_empty());
    assert!(gate.enter("a").await.is_ok());
}

#[tokio::test]
async fn a_library_refuses_no_call() {
    let gate = Admission::new(1, Allowances::default(), WhenFull::Wait);
    let running = gate.enter("a").await.unwrap();
    let calls = WAITING_PER_RUN * 50;
    let queue: Vec<_> = (0..calls).map(|_| gate.queue.request_place("a").unwrap()).collect();
    assert_eq!(gate.waiting(), calls);
    drop(running);
    for waiting in queue {
        let Entry::Queued(receiver, _place) = waiting else { panic!("it does not wait") };
        drop(receiver.await.unwrap().unwrap());
    }
    assert_eq!((gate.waiting(), gate.running()), (0, 0));
}

#[tokio::test]
async fn principals_take_turns() {
    let gate = Admission::new(1, Allowances::default(), WhenFull::Refuse);
    let running = gate.enter("a").await.unwrap();
    let order = Arc::new(Mutex::new(Vec::new()));
    let mut calls = Vec::new();
    for name in ["a", "a", "a", "b", "c", "b"] {
        let (gate, order) = (gate.clone(), Arc::clone(&order));
        calls.push(tokio::spawn(async move {
            let _permit = gate.enter(name).await.unwrap();
            order.lock().push(name);
        }));
        settle().await;
    }
    drop(running);
    for call in calls {
        call.await.unwrap();
    }
    assert_eq!(*order.lock(), ["a", "b", "c", "a", "b", "a"]);
}

#[tokio::test]
async fn a_principal_has_its_own_places_and_leaves_the_others_free() {
    let allowances = Allowances::new(|name| Allowance { runs: (name == "a").then_some(1), ..Allowance::default() });
    let gate = Admission::new(2, allowances, WhenFull::Refuse);
    let first = gate.enter("a").await.unwrap();
    let second = tokio::spawn({
        let gate = gate.clone();
        async move { gate.enter("a").await.map(drop) }
    });
    settle().await;
    assert!(!second.is_finished());
    // Other principals pass those that may have no further run.
    drop(gate.enter("b").await.unwrap());
    settle().await;
    assert!(!second.is_finished());
    let queue: Vec<_> = (1..WAITING_PER_RUN).map(|_| gate.queue.request_place("a").map(drop)).collect();
    assert!(queue.iter().all(Result::is_ok));
    drop(first);
    second.await.unwrap().unwrap();
    assert_eq!((gate.running(), gate.waiting()), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn the_cpu_time_of_an_hour_comes_back_in_an_hour() {
    let limit = Duration::from_secs(60);
    let allowances = Allowances::new(move |_| Allowance { cpu_per_hour: Some(limit), ..Allowance::default() });
    let gate = Admission::new(2, allowances, WhenFull::Refuse);
    let mut permit = gate.enter("a").await.unwrap();
    permit.start(Duration::from_secs(100));
    permit.record_cpu(Duration::from_secs(90));
    drop(permit);
    let Some(AdmissionError::OverLimit(OverLimit::Cpu { retry_after, .. })) = gate.enter("a").await.err() else {
        panic!("it is let in")
    };
    // 30 s over the limit, and 60 s come back in an hour.
    assert_eq!(retry_after.as_secs(), 1800);
    assert!(gate.enter("b").await.is_ok());
    tokio::time::advance(Duration::from_secs(1801)).await;
    // Unknown CPU time counts as the elapsed time, at most the limit.
    let mut permit = gate.enter("a").await.unwrap();
    permit.start(Duration::from_secs(5));
    tokio::time::advance(Duration::from_secs(60)).await;
    drop(permit);
    assert!(gate.enter("a").await.is_err());
}

#[tokio::test(start_paused = true)]
async fn who_waits_is_asked_again_what_it_has_used() {
    let limit = Duration::from_secs(60);
    let allowances = Allowances::new(move |_| Allowance { cpu_per_hour: Some(limit), ..Allowance::default() });
    let gate = Admission::new(1, allowances, WhenFull::Refuse);
    let mut running = gate.enter("a").await.unwrap();
    let mut waiting = Vec::new();
    for _ in 0..WAITING_PER_RUN {
        let gate = gate.clone();
        waiting.push(tokio::spawn(async move { gate.enter("a").await.map(drop) }));
        settle().await;
    }
    let other = tokio::spawn({
        let gate = gate.clone();
        async move { gate.enter("b").await.map(drop) }
    });
    settle().await;
    running.start(Duration::from_secs(100));
    running.record_cpu(Duration::from_secs(90));
    drop(running);
    for call in waiting {
        let refused = call.await.unwrap();
        assert!(matches!(refused, Err(AdmissionError::OverLimit(OverLimit::Cpu { .. }))), "{refused:?}");
    }
    other.await.unwrap().unwrap();
    assert_eq!((gate.running(), gate.waiting()), (0, 0));
}

#[tokio::test]
async fn whose_access_is_revoked_loses_what_runs_and_what_waits() {
    let gate = Admission::new(1, Allowances::default(), WhenFull::Refuse);
    let running = gate.enter("a").await.unwrap();
    let wait = |name: &'static str| {
        let gate = gate.clone();
        tokio::spawn(async move { gate.enter(name).await.map(drop) })
    };
    let (first, second, other) = (wait("a"), wait("a"), wait("b"));
    settle().await;
    assert!(!running.revoked().is_cancelled());
    gate.revoke("a");
    gate.revoke("nobody");
    assert!(running.revoked().is_cancelled());
    for call in [first, second] {
        assert_eq!(call.await.unwrap(), Err(AdmissionError::Revoked));
    }
    assert!(!other.is_finished(), "the run has not ended yet");
    drop(running);
    other.await.unwrap().unwrap();
    // A later call is admitted.
    assert!(!gate.enter("a").await.unwrap().revoked().is_cancelled());
    assert_eq!((gate.running(), gate.waiting()), (0, 0));
    let nobody = Allowances::new(|_| Allowance { revoked: true, ..Allowance::default() });
    assert_eq!(Admission::new(1, nobody, WhenFull::Refuse).enter("a").await.err(), Some(AdmissionError::Revoked));
}
