//! The limits on the cost of a template, and the meter that enforces them while it renders.
//!
//! Only values made by an expression are limited. A variable's value was limited when it was
//! stored, so passing it on or selecting from it costs nothing but the copy ([`COPY_MAX`]). Fuel
//! limits the number of instructions. The meter limits the work of a single instruction, since one
//! `+` can double a string and one `==` can traverse a tree.

use minijinja::value::ValueKind;
use minijinja::{Error, ErrorKind, State, Value};

use crate::budget::{BUDGET, Budget, INSTRUCTION_WORK};
use crate::value::ValueNode;

/// The maximum length of one template string, in bytes.
pub(crate) const SOURCE_MAX: usize = 64 * 1024;
/// The maximum length of a string made by an expression, or of a template's rendered text, in
/// bytes.
pub(crate) const TEXT_MAX: usize = 1024 * 1024;
/// The maximum number of elements, including nested ones, of a list or map made by an expression.
pub(crate) const ELEMENTS_MAX: usize = 100_000;
/// The maximum number of instructions for one template string: enough for a loop over ten thousand
/// items with a few tags in its body.
pub(crate) const FUEL_MAX: u64 = 500_000;

/// The maximum nesting depth of a list or map made by an expression.
pub(crate) const DEPTH_MAX: usize = 64;
/// The maximum number of operators in one tag; the compiler recurses once for each.
pub(crate) const OPERATORS_MAX: usize = 500;
/// The maximum number of tags and text segments in one template string.
pub(crate) const TAGS_MAX: usize = 2_000;
/// The maximum number of `elif` branches in one template string; the compiler recurses once for
/// each.
pub(crate) const ELIF_MAX: usize = 200;
/// The maximum number of call arguments that are unpacked from a list or map.
pub(crate) const ARGUMENTS_MAX: usize = 1_000;
/// The maximum number of bytes of variable data that is copied into one result.
pub(crate) const COPY_MAX: usize = 64 * 1024 * 1024;

/// The maximum work of one template string, in bytes of text read or written by operators, filters
/// and methods.
const WORK_MAX: usize = 16 * 1024 * 1024;
/// The work charged for one element, in the unit of [`WORK_MAX`]: about the size of a value.
const ELEMENT_WORK: usize = 16;

/// The work that a template may still do while it renders.
struct WorkMeter {
    left: usize,
    /// The budget shared with the other templates of the same decision, if any.
    budget: Option<Budget>,
    /// The number of instructions already charged to the shared budget.
    charged: u64,
}

impl WorkMeter {
    /// Charges the shared budget for text and for the instructions run since the last charge.
    fn spend_shared(&mut self, bytes: usize, instructions: u64) -> Result<(), Error> {
        let Some(budget) = &self.budget else { return Ok(()) };
        let fresh = instructions.saturating_sub(self.charged);
        self.charged = instructions;
        let units = fresh.saturating_mul(INSTRUCTION_WORK);
        let units = units.saturating_add(u64::try_from(bytes).unwrap_or(u64::MAX));
        if budget.spend(units) { Ok(()) } else { Err(over_budget()) }
    }
}

/// Returns the meter of the template that is being rendered; creates it on first use.
fn meter<'s>(state: &'s mut State<'_, '_>) -> &'s mut WorkMeter {
    let budget = match state.get_extension::<WorkMeter>() {
        Some(_) => None,
        None => state.lookup(BUDGET).and_then(|it| it.downcast_object_ref::<Budget>().cloned()),
    };
    state.get_or_insert_extension_with(|| WorkMeter { left: WORK_MAX, budget, charged: 0 })
}

fn instructions(state: &State<'_, '_>) -> u64 {
    state.fuel_levels().map_or(0, |(consumed, _)| consumed)
}

/// Charges for bytes of text read or written. Fails if the template exceeds its work limit.
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

/// Returns the units that a rendered template has not yet charged to the shared budget.
pub(crate) fn uncharged(state: &State<'_, '_>) -> u64 {
    let charged = state.get_extension::<WorkMeter>().map_or(0, |meter| meter.charged);
    instructions(state).saturating_sub(charged).saturating_mul(INSTRUCTION_WORK)
}

/// Charges for elements read or written. Fails if the template exceeds its work limit.
pub(crate) fn spend_elements(state: &mut State<'_, '_>, count: usize) -> Result<(), Error> {
    spend_text(state, count.saturating_mul(ELEMENT_WORK))
}

/// Charges for a string about to be made. Fails if the string is too long.
pub(crate) fn spend_new_text(state: &mut State<'_, '_>, bytes: usize) -> Result<(), Error> {
    if bytes > TEXT_MAX {
        return Err(text_too_long());
    }
    spend_text(state, bytes)
}

/// Charges for a list or map about to be made. Fails if it has too many elements.
pub(crate) fn spend_new_elements(state: &mut State<'_, '_>, count: usize) -> Result<(), Error> {
    if count > ELEMENTS_MAX {
        return Err(too_many_elements());
    }
    spend_elements(state, count)
}

/// Charges for traversing a whole value at any depth, as a comparison or a sort does.
pub(crate) fn spend_value(state: &mut State<'_, '_>, value: &Value) -> Result<(), Error> {
    weigh(state, value, 0)
}

fn weigh(state: &mut State<'_, '_>, value: &Value, depth: usize) -> Result<(), Error> {
    if depth > DEPTH_MAX {
        return Err(too_deep());
    }
    if let Some(node) = value.downcast_object_ref::<ValueNode>() {
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

/// Fails if a list that is not variable data reports a length above [`ELEMENTS_MAX`].
pub(crate) fn check_length(value: &Value) -> Result<(), Error> {
    let is_data = value.downcast_object_ref::<ValueNode>().is_some();
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
