//! The arguments of `noetl approvals`.

use clap::{Args, Subcommand};
use clap_complete::engine::ArgValueCandidates;

use super::{Chosen, ClientArgs, Format};
use crate::input::candidates;

#[derive(Debug, Subcommand)]
pub(crate) enum ApprovalsCommand {
    /// List the approvals that wait for a decision, oldest first
    List(ApprovalListArgs),
    /// Show an approval with its form, or its decision
    Show(ApprovalShowArgs),
    /// Approve: the step completes
    Approve(DecideArgs),
    /// Reject: the step fails, unless its playbook handles rejections
    Reject(DecideArgs),
    /// Make a link with which a person without access to the server decides, once
    Link(ApprovalLinkArgs),
}

#[derive(Debug, Args)]
#[command(after_help = APPROVALS_EXAMPLES)]
pub(crate) struct ApprovalListArgs {
    /// Only approvals that this person may decide
    #[arg(long, value_name = "NAME")]
    pub(crate) approver: Option<String>,
    /// Maximum number of approvals
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u16).range(1..=100))]
    pub(crate) limit: u16,
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    pub(crate) output: Format,
    #[command(flatten)]
    pub(crate) client: ClientArgs,
}

/// One approval.
#[derive(Debug, Clone, Args)]
pub(crate) struct WhichApproval {
    /// Id of an execution, or `last`
    #[arg(value_name = "ID", add = ArgValueCandidates::new(candidates::executions))]
    pub(crate) execution: Chosen,
    /// Number of the command that waits; needed only if several approvals of the execution wait
    #[arg(value_name = "COMMAND")]
    pub(crate) command: Option<u64>,
}

#[derive(Debug, Args)]
#[command(after_help = APPROVALS_EXAMPLES)]
pub(crate) struct ApprovalShowArgs {
    #[command(flatten)]
    pub(crate) which: WhichApproval,
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    pub(crate) output: Format,
    #[command(flatten)]
    pub(crate) client: ClientArgs,
}

#[derive(Debug, Args)]
#[command(after_help = APPROVALS_EXAMPLES)]
pub(crate) struct DecideArgs {
    #[command(flatten)]
    pub(crate) which: WhichApproval,
    /// Comment, stored with the decision
    #[arg(long, value_name = "TEXT")]
    pub(crate) comment: Option<String>,
    /// Value of a field of the form; repeat for more fields
    #[arg(long, value_name = "FIELD=VALUE", value_parser = field_value)]
    pub(crate) set: Vec<(String, String)>,
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    pub(crate) output: Format,
    #[command(flatten)]
    pub(crate) client: ClientArgs,
}

#[derive(Debug, Args)]
#[command(after_help = APPROVALS_EXAMPLES)]
pub(crate) struct ApprovalLinkArgs {
    #[command(flatten)]
    pub(crate) which: WhichApproval,
    /// Person who gets the link; recorded as the one who decided
    #[arg(long, value_name = "NAME")]
    pub(crate) person: Option<String>,
    /// Time for which the link is valid, up to 90d [default: 7d]
    #[arg(long, value_name = "TIME")]
    pub(crate) valid_for: Option<String>,
    #[command(flatten)]
    pub(crate) client: ClientArgs,
}

fn field_value(text: &str) -> Result<(String, String), String> {
    let (field, value) = text
        .split_once('=')
        .ok_or_else(|| format!("`{text}` has no `=`; write it like share=20"))?;
    Ok((field.trim().to_owned(), value.to_owned()))
}

pub(super) const APPROVALS_EXAMPLES: &str = "\
A step of kind `approval` waits until a person decides. The decision is recorded with the name of the
person, the comment and the values of the form. It cannot be changed.

Examples:
  noetl approvals list
  noetl approvals show last
  noetl approvals approve last --comment 'tests are green' --set share=20
  noetl approvals reject 478775660589088776 4 --comment 'not on a Friday'
  noetl approvals link last --person ada --valid-for 2d";
