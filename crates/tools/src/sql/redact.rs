//! Replaces the secrets of a call in error messages.

/// The text that replaces a secret.
const MASK: &str = "***";
/// The minimum length of a secret; a shorter one could be ordinary text.
const SECRET_CHARACTERS_MIN: usize = 4;

/// The secrets of one call.
#[derive(Debug, Clone, Default)]
pub(crate) struct SecretMasker(Vec<String>);

impl SecretMasker {
    pub(crate) fn add(&mut self, secret: &str) {
        if SECRET_CHARACTERS_MIN <= secret.chars().count() {
            self.0.push(secret.to_owned());
            // The longest secret is replaced first, so that no part of one remains.
            self.0.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        }
    }

    pub(crate) fn redact(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, secret| text.replace(secret, MASK))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_masked_at_every_place() {
        let mut secrets = SecretMasker::default();
        for secret in ["hunter2", "hunter2-and-more", "abc"] {
            secrets.add(secret);
        }
        assert_eq!(secrets.redact("'hunter2-and-more' or hunter2, abc"), "'***' or ***, abc");
    }
}
