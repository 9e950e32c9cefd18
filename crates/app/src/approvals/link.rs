//! Links with which a person without access to the server decides about one approval.
//!
//! A link holds the approval, the person and the end of its validity, signed with a key that is
//! derived from the operator's. Nothing is stored: an approval is decided once, and a link is of no
//! use after that. Signatures are compared in constant time.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use noetl_api::wire::{ApprovalLink, ApprovalView};
use noetl_model::{CommandId, ExecutionId, Timestamp};
use sha2::Sha256;
use subtle::ConstantTimeEq as _;

use super::{ApprovalError, is_actor};
use crate::app::App;

/// The longest time for which a link is valid.
pub const LINK_VALID_MAX: Duration = Duration::from_secs(90 * 86_400);
/// The time for which a link is valid unless its request says otherwise.
const LINK_VALID: Duration = Duration::from_secs(7 * 86_400);
/// The longest link that is read.
const LINK_LEN_MAX: usize = 1200;
/// The purpose of the key among all keys that are derived from the operator's.
const KEY_PURPOSE: &str = "noetl approval link v2";
/// The maker of a link who has no name.
const UNNAMED: &str = "a caller without a name";

/// The content of a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovalTicket {
    pub execution: ExecutionId,
    pub command: CommandId,
    /// The person whom the link was made for.
    pub actor: Option<String>,
    pub expires_at: Timestamp,
    /// The caller who made the link.
    pub made_by: String,
}

/// The caller who makes a link, and the approvers for whom he may make one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LinkMaker {
    /// Every approver: an administrator, or anyone on a server that asks for no token.
    ForEveryone(Option<String>),
    /// Only himself, under the checked name of his token.
    ForHimself(Option<String>),
}

impl LinkMaker {
    fn name(&self) -> Option<&String> {
        match self {
            LinkMaker::ForEveryone(name) | LinkMaker::ForHimself(name) => name.as_ref(),
        }
    }

    fn may_make_for(&self, person: Option<&String>) -> bool {
        match self {
            LinkMaker::ForEveryone(_) => true,
            LinkMaker::ForHimself(name) => name.is_some() && name.as_ref() == person,
        }
    }
}

/// The reason why a link is not made, or cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum LinkError {
    #[error("a link is valid for up to {} days", LINK_VALID_MAX.as_secs() / 86_400)]
    TooLong,
    #[error("the name of an actor has 1 to 128 bytes without control characters")]
    BadActor,
    #[error("the approval has been decided")]
    Decided,
    #[error("the approval is only for {0}: name one of them as the actor of the link")]
    NoApprover(String),
    #[error(
        "a link for an approver is made by himself, under the name of his token, or by an administrator"
    )]
    NotForOthers,
    #[error("the link is incomplete or was changed")]
    Invalid,
    #[error("the link was valid until {0}")]
    Expired(Timestamp),
    #[error(transparent)]
    Show(#[from] ApprovalError),
}

impl App {
    /// Makes a link for a waiting approval; `actor` is the person who gets it.
    pub async fn approval_link(
        &self,
        execution: ExecutionId,
        command: CommandId,
        actor: Option<String>,
        valid_for: Option<Duration>,
        maker: &LinkMaker,
    ) -> Result<ApprovalLink, LinkError> {
        let valid_for = valid_for.unwrap_or(LINK_VALID);
        if valid_for > LINK_VALID_MAX {
            return Err(LinkError::TooLong);
        }
        if actor.as_deref().is_some_and(|actor| !is_actor(actor)) {
            return Err(LinkError::BadActor);
        }
        let view = self.approval(execution, command).await?;
        if view.decision.is_some() {
            return Err(LinkError::Decided);
        }
        let is_approver = |actor: &String| view.approvers.contains(actor);
        if !view.approvers.is_empty() && !actor.as_ref().is_some_and(is_approver) {
            return Err(LinkError::NoApprover(view.approvers.join(", ")));
        }
        if !view.approvers.is_empty() && !maker.may_make_for(actor.as_ref()) {
            return Err(LinkError::NotForOthers);
        }
        let expires_at = self.now().after(valid_for);
        let made_by = maker.name().cloned().unwrap_or_else(|| UNNAMED.to_owned());
        let ticket = ApprovalTicket { execution, command, actor, expires_at, made_by };
        Ok(ApprovalLink { path: format!("/ui/decide/{}", self.signed(&ticket)), expires_at })
    }

    /// Reads a link and loads its approval.
    pub async fn open_approval_link(
        &self,
        link: &str,
    ) -> Result<(ApprovalTicket, ApprovalView), LinkError> {
        let ticket = self.ticket(link)?;
        let view = self.approval(ticket.execution, ticket.command).await?;
        Ok((ticket, view))
    }

    fn ticket(&self, link: &str) -> Result<ApprovalTicket, LinkError> {
        if link.len() > LINK_LEN_MAX {
            return Err(LinkError::Invalid);
        }
        let (content, signature) = link.split_once('.').ok_or(LinkError::Invalid)?;
        let expected = self.signature(content);
        if !bool::from(expected.as_bytes().ct_eq(signature.as_bytes())) {
            return Err(LinkError::Invalid);
        }
        let ticket = read(content).ok_or(LinkError::Invalid)?;
        if ticket.expires_at <= self.now() {
            return Err(LinkError::Expired(ticket.expires_at));
        }
        Ok(ticket)
    }

    fn signed(&self, ticket: &ApprovalTicket) -> String {
        let content = written(ticket);
        let signature = self.signature(&content);
        format!("{content}.{signature}")
    }

    fn signature(&self, content: &str) -> String {
        let key = self.vault().derived_key(KEY_PURPOSE);
        let mut mac = Hmac::<Sha256>::new_from_slice(&key[..]).expect("a key may have any length");
        mac.update(content.as_bytes());
        URL_SAFE_NO_PAD.encode(mac.finalize().into_bytes())
    }
}

/// The content of a link as JSON: execution, command, end in microseconds, person, maker.
type WrittenTicket = (i64, u64, i64, Option<String>, String);

/// Writes a ticket as text without dots.
fn written(ticket: &ApprovalTicket) -> String {
    let ApprovalTicket { execution, command, actor, expires_at, made_by } = ticket.clone();
    let content: WrittenTicket = (execution.0, command.0, expires_at.as_micros(), actor, made_by);
    URL_SAFE_NO_PAD.encode(serde_json::to_vec(&content).expect("numbers and texts are JSON"))
}

fn read(content: &str) -> Option<ApprovalTicket> {
    let (execution, command, until, actor, made_by): WrittenTicket =
        serde_json::from_slice(&URL_SAFE_NO_PAD.decode(content).ok()?).ok()?;
    Some(ApprovalTicket {
        execution: ExecutionId(execution),
        command: CommandId(command),
        actor,
        expires_at: Timestamp::from_micros(until),
        made_by,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ticket_is_read_as_it_was_written() {
        for actor in [None, Some("ada"), Some("Ada Lovelace. x")] {
            let ticket = ApprovalTicket {
                execution: ExecutionId(478_775_660_589_088_776),
                command: CommandId(3),
                actor: actor.map(str::to_owned),
                expires_at: Timestamp::from_millis(1_800_000_000_000),
                made_by: "bob".to_owned(),
            };
            let text = written(&ticket);
            assert!(!text.contains('.'), "{text}");
            assert_eq!(read(&text), Some(ticket));
        }
        for text in ["", "x", &URL_SAFE_NO_PAD.encode("1 2"), &URL_SAFE_NO_PAD.encode("a b c d")] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
