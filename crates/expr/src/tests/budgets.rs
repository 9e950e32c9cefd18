//! Tests of templates that share a budget: each is within its own limits, and their sum is bounded.

use serde_json::{Value, json};

use super::Given;
use crate::{Budget, Condition, Template};

/// Returns how many evaluations of a condition over `rows` rows a budget allows.
fn guards_paid_for(guard: &str, rows: usize, budget: &Budget) -> usize {
    let rows: Vec<Value> = (0..rows).map(|n| json!({ "n": n, "name": "row" })).collect();
    let given = Given::from(json!({ "rows": rows }));
    let condition = Condition::parse(json!(guard)).unwrap();
    (0..1000)
        .take_while(|_| {
            let held = condition.holds_within(&given, budget);
            assert!(held.is_ok() || budget.is_exceeded(), "{held:?}");
            !budget.is_exceeded()
        })
        .count()
}

#[test]
fn guards_within_their_own_limits_share_the_budget_of_their_decision() {
    let guards = [
        "rows | selectattr('n', 'eq', -1) | list | length > 0",
        "rows | map(attribute='name') | join(',') | length == 1",
        "rows == [1]",
        "{% for row in rows %}{{ row.n }}{% endfor %}",
        "{% set ns = namespace(n=0) %}{% for row in rows %}{% set ns.n = row.n %}{% endfor %}",
    ];
    for guard in guards {
        let paid = guards_paid_for(guard, 5_000, &Budget::new(4_000_000));
        assert!((1..1000).contains(&paid), "{guard}: {paid}");
    }
}

#[test]
fn a_budget_ends_a_template_in_the_middle() {
    let given = Given::from(json!({ "n": 1_000 }));
    let source = "{% for a in range(n) %}{{ a | string | upper }}{% endfor %}";
    let template = Template::parse(json!(source)).unwrap();
    let budget = Budget::new(50_000);
    let error = template.render_within(&given, &budget).unwrap_err();
    assert!(error.message.starts_with("the work of all templates together"), "{error}");
    assert!(budget.spent() < 60_000, "{}", budget.spent());
}

#[test]
fn copies_of_variables_are_charged() {
    let given = Given::from(json!({ "text": "x".repeat(1000), "list": vec![0; 1000] }));
    for (source, at_least) in
        [("{{ text }}", 1000), ("{{ list }}", 16_000), ("{{ [list] }}", 16_000)]
    {
        let budget = Budget::new(u64::MAX);
        Template::parse(json!(source)).unwrap().render_within(&given, &budget).unwrap();
        assert!(budget.spent() >= at_least, "{source}: {}", budget.spent());
    }
}

#[test]
fn the_same_work_costs_the_same_and_cannot_be_seen_or_named() {
    let given = Given::from(json!({ "rows": [1, 2, 3] }));
    let spent = |source: &str| {
        let budget = Budget::new(1_000_000);
        let rendered = Template::parse(json!(source)).unwrap().render_within(&given, &budget);
        (rendered.unwrap(), budget.spent())
    };
    assert_eq!(spent("{{ rows | sum }}"), spent("{{ rows | sum }}"));
    assert!(Template::parse(json!("{{ <budget> }}")).is_err());
}
