//! Addresses of the web interface, for messages of commands.

use std::net::TcpStream;

use noetl_model::ExecutionId;
use url::Url;

use super::HistoryLocation;
use super::remote::Remote;
use crate::config::Config;
use crate::wiring::database;

/// Returns the address of the page of an execution, or of the overview.
pub(crate) fn page_of(base: &str, execution: Option<ExecutionId>) -> String {
    let base = base.trim_end_matches('/');
    match execution {
        Some(execution) => format!("{base}/ui/executions/{execution}"),
        None => format!("{base}/ui/"),
    }
}

/// Returns the page of an execution if a server is known that shows it: the one that was asked, or
/// the one that has the database open.
pub(crate) async fn execution_page(
    location: &HistoryLocation,
    execution: ExecutionId,
    config: &Config,
) -> Option<String> {
    let url = match location {
        HistoryLocation::Memory => return None,
        HistoryLocation::Server(url) => url.clone(),
        HistoryLocation::File(database) => database::served_at(database).filter(answers)?,
    };
    let page = page_of(url.as_str(), Some(execution));
    let server = Remote::public(url, config).ok()?;
    server.client().shows_pages().await.then_some(page)
}

/// True if a server accepts connections; one that was killed leaves its address behind.
pub(crate) fn answers(server: &Url) -> bool {
    server
        .socket_addrs(|| None)
        .is_ok_and(|addresses| addresses.iter().any(|it| TcpStream::connect(it).is_ok()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_the_overview_or_an_execution() {
        assert_eq!(page_of("http://a", None), "http://a/ui/");
        assert_eq!(page_of("http://a/", Some(ExecutionId(7))), "http://a/ui/executions/7");
    }
}
