//! How much a template may cost: every limit of this crate, and the meter that holds it to them.
//!
//! Only what an expression makes is limited. A variable's value was bounded when it came in, so
//! handing one on whole, or choosing from it, is free apart from the copy ([`COPY_MAX`]). Fuel
//! bounds the number of instructions; the meter bounds what a single instruction may do, since
//! one `+` can double a text and one `==` can walk a tree.

use minijinja::value::ValueKind;
use minijinja::{Error, ErrorKind, State, Value};

use crate::budget::{BUDGET, Budget, INSTRUCTION_WORK};
use crate::value::Node;

/// Bytes of template source in one string.
pub(crate) const SOURCE_MAX: usize = 64 * 1024;
/// Bytes of one text made by an expression, or of the text a template renders to.
pub(crate) const TEXT_MAX: usize = 1024 * 1024;
/// Elements, nested ones included, of one list or map made by an expression.
pub(crate) const ELEMENTS_MAX: usize = 100_000;
/// Instructions one string may run: a loop over ten thousand items with a body of a few tags.
pub(crate) const FUEL_MAX: u64 = 500_000;

/// How deep a list or map made by an expression may nest.
pub(crate) const DEPTH_MAX: usize = 64;
/// Operators in one tag, because the compiler recurses once for each.
pub(crate) const OPERATORS_MAX: usize = 500;
/// Tags, and stretches of text between them, in one string.
pub(crate) const TAGS_MAX: usize = 2_000;
/// `elif` branches in one string, because the compiler recurses once for each.
pub(crate) const ELIF_MAX: usize = 200;
/// Arguments of a call that are spread from a list or map.
pub(crate) const ARGUMENTS_MAX: usize = 1_000;
/// Bytes of variable data that may be copied into one result.
pub(crate) const COPY_MAX: usize = 64 * 1024 * 1024;

/// Work one string may do, in bytes of text read or written by operators, filters and methods.
const WORK_MAX: usize = 16 * 1024 * 1024;
/// What an element costs in the same currency: about the size of a value.
const ELEMENT_WORK: usize = 16;

/// What a template has left to spend while it renders.
struct Meter {
    left: usize,
    /// Shared with the other templates of the decision, if it is part of one.
    budget: Option<Budget>,
    /// Instructions that the budget has been charged for.
    charged: u64,
}

impl Meter {
    /// Charges the shared budget for text and for the instructions since the last charge.
    fn spend_shared(&mut self, bytes: usize, instructions: u64) -> Result<(), Error> {
        let Some(budget) = &self.budget else { return Ok(()) };
        let fresh = instructions.saturating_sub(self.charged);
        self.charged = instructions;
        let units = fresh.saturating_mul(INSTRUCTION_WORK);
        let units = units.saturating_add(u64::try_from(bytes).unwrap_or(u64::MAX));
        if budget.spend(units) { Ok(()) } else { Err(over_budget()) }
    }
}

/// The meter of the template that is being rendered.
fn meter<'s>(state: &'s mut State<'_, '_>) -> &'s mut Meter {
    let budget = match state.get_extension::<Meter>() {
        Some(_) => None,
        None => state.lookup(BUDGET).and_then(|it| it.downcast_object_ref::<Budget>().cloned()),
    };
    state.get_or_insert_extension_with(|| Meter { left: WORK_MAX, budget, charged: 0 })
}

fn instructions(state: &State<'_, '_>) -> u64 {
    state.fuel_levels().map_or(0, |(consumed, _)| consumed)
}

/// Charges for text read or written.
pub(crate) fn spend_text(state: &mut State<'_, '_>, bytes: usize) -> Result<(), Error> {
    let instructions = instructions(state);
    let meter = meter(state);
    meter.spend_shared(bytes, instructions)?;
    match meter.left.checked_sub(bytes) {
        Some(left) => {
            meter.left = left;
            Ok(())
        }
        None => {
            meter.left = 0;
            Err(refused(format!("more work than the {WORK_MAX} units one template may do")))
        }
    }
}

/// Units of the shared budget that a rendered text template has not been charged for yet.
pub(crate) fn uncharged(state: &State<'_, '_>) -> u64 {
    let charged = state.get_extension::<Meter>().map_or(0, |meter| meter.charged);
    instructions(state).saturating_sub(charged).saturating_mul(INSTRUCTION_WORK)
}

/// Charges for elements read or written.
pub(crate) fn spend_elements(state: &mut State<'_, '_>, count: usize) -> Result<(), Error> {
    spend_text(state, count.saturating_mul(ELEMENT_WORK))
}

/// Charges for a text about to be made, and refuses one that is too long.
pub(crate) fn allow_text(state: &mut State<'_, '_>, bytes: usize) -> Result<(), Error> {
    if bytes > TEXT_MAX {
        return Err(text_too_long());
    }
    spend_text(state, bytes)
}

/// Charges for a list or map about to be made, and refuses one that is too long.
pub(crate) fn allow_elements(state: &mut State<'_, '_>, count: usize) -> Result<(), Error> {
    if count > ELEMENTS_MAX {
        return Err(too_many_elements());
    }
    spend_elements(state, count)
}

/// Charges for looking at all of a value, however deep, as a comparison or a sort does.
pub(crate) fn spend_value(state: &mut State<'_, '_>, value: &Value) -> Result<(), Error> {
    weigh(state, value, 0)
}

fn weigh(state: &mut State<'_, '_>, value: &Value, depth: usize) -> Result<(), Error> {
    if depth > DEPTH_MAX {
        return Err(too_deep());
    }
    if let Some(node) = value.downcast_object_ref::<Node>() {
        return spend_text(state, node.size(WORK_MAX));
    }
    match value.kind() {
        ValueKind::String => spend_text(state, value.as_str().map_or(0, str::len)),
        ValueKind::Seq | ValueKind::Iterable => {
            check_length(value)?;
            for item in value.try_iter()?.checked() {
                spend_elements(state, 1)?;
                weigh(state, &item?, depth + 1)?;
            }
            Ok(())
        }
        ValueKind::Map => {
            check_length(value)?;
            for (key, item) in
                value.as_object().and_then(|it| it.try_iter_pairs()).into_iter().flatten()
            {
                spend_elements(state, 1)?;
                weigh(state, &key, depth + 1)?;
                weigh(state, &item, depth + 1)?;
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

/// Refuses a list that says it is too long before anyone walks it.
pub(crate) fn check_length(value: &Value) -> Result<(), Error> {
    let is_data = value.downcast_object_ref::<Node>().is_some();
    match value.len() {
        Some(length) if length > ELEMENTS_MAX && !is_data => Err(too_many_elements()),
        _ => Ok(()),
    }
}

pub(crate) fn text_too_long() -> Error {
    refused(format!("a text longer than {TEXT_MAX} bytes"))
}

pub(crate) fn too_many_elements() -> Error {
    refused(format!("more than {ELEMENTS_MAX} elements"))
}

pub(crate) fn too_deep() -> Error {
    refused(format!("values nested deeper than {DEPTH_MAX}"))
}

pub(crate) fn copied_too_much() -> Error {
    refused(format!("a result larger than {COPY_MAX} bytes"))
}

fn over_budget() -> Error {
    Error::new(ErrorKind::InvalidOperation, "the work of all templates together is too much")
}

fn refused(what: String) -> Error {
    Error::new(ErrorKind::InvalidOperation, format!("template makes {what}"))
}
