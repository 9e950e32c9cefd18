//! Tests of the network layer: slow clients, long bodies, TLS, client certificates.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use noetl_api::{ClientIdentity, ClientTls, ControlError, ControlPlane as _, RemoteControl};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::{CancellationToken, DropGuard};
use url::Url;

use super::Server;
use crate::{Authentication, Hosts, Limits, ServerSettings, Tls, TlsFiles, serve};

/// Timeout for events that must happen; long enough for a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);

/// A server on a port.
struct Listening {
    address: String,
    _served: DropGuard,
}

impl Listening {
    async fn with(settings: ServerSettings) -> Self {
        let server = Server::set(settings);
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address").to_string();
        let stop = CancellationToken::new();
        let state = server.state.clone();
        let stopped = stop.clone();
        tokio::spawn(async move {
            let _kept = server;
            serve(listener, state, Duration::from_secs(10), stopped).await
        });
        Self { address, _served: stop.drop_guard() }
    }

    async fn open(&self) -> TcpStream {
        TcpStream::connect(&self.address).await.expect("it listens")
    }

    /// Sends bytes and returns the answer, until the server closes the connection.
    async fn told(&self, bytes: &[u8]) -> String {
        let mut stream = self.open().await;
        stream.write_all(bytes).await.expect("it reads");
        ended(&mut stream).await
    }
}

async fn ended(stream: &mut TcpStream) -> String {
    let mut told = Vec::new();
    let read = tokio::time::timeout(PATIENCE, stream.read_to_end(&mut told)).await;
    let _cut_off = read.expect("the server ends the connection");
    String::from_utf8_lossy(&told).into_owned()
}

fn settings(limits: Limits) -> ServerSettings {
    ServerSettings { limits, ..ServerSettings::new(Authentication::Open, Hosts::Loopback) }
}

const HEALTH: &[u8] = b"GET /health HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";

#[tokio::test]
async fn a_client_that_never_ends_its_request_is_cut_off_and_others_are_served() {
    let limits = Limits { head_wait: Duration::from_millis(300), ..Limits::default() };
    let server = Listening::with(settings(limits)).await;
    let mut slow = Vec::new();
    for _ in 0..50 {
        let mut stream = server.open().await;
        stream.write_all(b"GET /health HTTP/1.1\r\nhost: loc").await.expect("it reads");
        slow.push(stream);
    }
    assert!(server.told(HEALTH).await.starts_with("HTTP/1.1 200"), "others are served");
    for mut stream in slow {
        assert!(!ended(&mut stream).await.contains(" 200 "));
    }
}

#[tokio::test]
async fn slow_clients_that_take_all_connections_give_them_back() {
    let head_wait = Duration::from_millis(300);
    let limits = Limits { head_wait, connections_max: 2, ..Limits::default() };
    let server = Listening::with(settings(limits)).await;
    let _held = (server.open().await, server.open().await);
    assert!(server.told(HEALTH).await.starts_with("HTTP/1.1 200"));
}

#[tokio::test]
async fn a_body_that_does_not_arrive_in_time_is_a_problem() {
    let limits = Limits { body_wait: Duration::from_millis(200), ..Limits::default() };
    let server = Listening::with(settings(limits)).await;
    let head = b"POST /api/execute HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\
        content-type: application/json\r\ncontent-length: 100\r\n\r\n{";
    let told = server.told(head).await;
    assert!(told.starts_with("HTTP/1.1 408"), "{told}");
    assert!(told.contains("body-too-slow"), "{told}");
}

/// Sends only the head of a request and returns the start of the answer.
async fn told_at_once(path: &str, length: u64) -> String {
    let server = Listening::with(settings(Limits::default())).await;
    let mut stream = server.open().await;
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\
         content-type: application/json\r\ncontent-length: {length}\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await.expect("it reads");
    let mut told = vec![0; 12];
    let reading = tokio::time::timeout(Duration::from_millis(300), stream.read_exact(&mut told));
    match reading.await {
        Ok(read) => {
            read.expect("an answer");
            String::from_utf8_lossy(&told).into_owned()
        }
        Err(_) => "waits".to_owned(),
    }
}

#[tokio::test]
async fn a_body_that_says_it_is_too_long_is_refused_before_it_comes() {
    let mebibytes = |count: u64| count * 1024 * 1024;
    assert_eq!(told_at_once("/api/execute", mebibytes(4) + 1).await, "HTTP/1.1 413");
    assert_eq!(told_at_once("/api/execute", mebibytes(4)).await, "waits");
    assert_eq!(told_at_once("/api/worker/report", mebibytes(60)).await, "waits");
    assert_eq!(told_at_once("/api/worker/report", mebibytes(70)).await, "HTTP/1.1 413");
    assert_eq!(told_at_once("/ingress/x", mebibytes(2)).await, "HTTP/1.1 413");
}

#[tokio::test]
async fn a_body_without_an_end_is_refused_once_it_is_too_long() {
    let server = Listening::with(settings(Limits::default())).await;
    let mut stream = server.open().await;
    let head = b"POST /api/execute HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\
        content-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n";
    stream.write_all(head).await.expect("it reads");
    let chunk = [b"100000\r\n".as_slice(), &vec![b' '; 0x10_0000], b"\r\n"].concat();
    let (mut reader, mut writer) = stream.into_split();
    let send = async {
        // Sends 5 MiB, as far as the server reads them.
        for _ in 0..5 {
            if writer.write_all(&chunk).await.is_err() {
                return;
            }
        }
    };
    let mut told = vec![0; 12];
    let read = async { reader.read_exact(&mut told).await };
    let (read, ()) = tokio::join!(read, send);
    read.expect("an answer");
    assert_eq!(String::from_utf8_lossy(&told), "HTTP/1.1 413");
}

#[tokio::test]
async fn a_head_that_is_too_long_is_refused() {
    let server = Listening::with(settings(Limits::default())).await;
    let mut stream = server.open().await;
    let (mut reader, mut writer) = stream.split();
    let send = async {
        // The server may refuse the request before reading the rest.
        let _sent = writer.write_all(b"GET /health HTTP/1.1\r\nhost: localhost\r\nx: ").await;
        let _sent = writer.write_all(&vec![b'x'; 300_000]).await;
    };
    let mut told = vec![0; 12];
    let (read, ()) = tokio::join!(reader.read_exact(&mut told), send);
    read.expect("an answer");
    assert_eq!(String::from_utf8_lossy(&told), "HTTP/1.1 431");
}

/// A certificate authority and its certificates, in files.
struct Authority {
    directory: TempDir,
    issuer: CertifiedIssuer<'static, KeyPair>,
}

impl Authority {
    fn new() -> Self {
        // An error means that another test of this process has installed a provider.
        let _installed = rustls::crypto::ring::default_provider().install_default();
        let mut params = CertificateParams::new(Vec::new()).expect("no names");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        let issuer = CertifiedIssuer::self_signed(params, key).expect("a certificate");
        let directory = TempDir::new().expect("a directory");
        std::fs::write(directory.path().join("ca.pem"), issuer.pem()).expect("a file");
        Self { directory, issuer }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Writes a certificate for `localhost` and its key.
    fn sign(&self, name: &str) -> (PathBuf, PathBuf) {
        let key = KeyPair::generate().expect("a key");
        let params = CertificateParams::new(vec!["localhost".to_owned()]).expect("a name");
        let certificate = params.signed_by(&key, &self.issuer).expect("a certificate");
        let files = (self.path(&format!("{name}.pem")), self.path(&format!("{name}.key")));
        std::fs::write(&files.0, certificate.pem()).expect("a file");
        std::fs::write(&files.1, key.serialize_pem()).expect("a file");
        files
    }

    fn trusted(&self) -> ClientTls {
        ClientTls { ca: Some(self.path("ca.pem")), identity: None }
    }

    fn with_identity(&self, signed_by: &Authority) -> ClientTls {
        let (cert, key) = signed_by.sign("client");
        ClientTls { identity: Some(ClientIdentity { cert, key }), ..self.trusted() }
    }
}

async fn secured(authority: &Authority, client_ca: Option<&Path>) -> Listening {
    let (cert, key) = authority.sign("server");
    let files = TlsFiles { cert, key, client_ca: client_ca.map(Path::to_owned) };
    let tls = Tls::load(files).expect("certificates");
    let settings = ServerSettings { tls: Some(Arc::new(tls)), ..settings(Limits::default()) };
    Listening::with(settings).await
}

/// True if a worker with these certificates gets an answer.
async fn is_answered(server: &Listening, tls: &ClientTls) -> bool {
    let port = server.address.rsplit_once(':').expect("a port").1;
    let base = Url::parse(&format!("https://localhost:{port}")).expect("a URL");
    let control = RemoteControl::with_tls(base, None, tls).expect("a client");
    match control.report(&[]).await {
        Ok(_) => true,
        Err(ControlError::Unavailable(_)) => false,
        Err(error) => panic!("{error}"),
    }
}

#[tokio::test]
async fn a_server_with_a_certificate_is_asked_over_tls_by_those_who_trust_it() {
    let authority = Authority::new();
    let server = secured(&authority, None).await;
    assert!(is_answered(&server, &authority.trusted()).await);
    let other = Authority::new();
    assert!(!is_answered(&server, &other.trusted()).await);
    assert!(!server.told(HEALTH).await.contains("HTTP/1.1 200"), "plain HTTP is not answered");
}

#[tokio::test]
async fn a_server_that_asks_for_certificates_answers_only_those_that_its_authority_has_signed() {
    let authority = Authority::new();
    let server = secured(&authority, Some(&authority.path("ca.pem"))).await;
    assert!(!is_answered(&server, &authority.trusted()).await, "no certificate");
    let other = Authority::new();
    let foreign = authority.with_identity(&other);
    assert!(!is_answered(&server, &foreign).await, "a certificate of another authority");
    assert!(is_answered(&server, &authority.with_identity(&authority)).await);
}

#[tokio::test]
async fn a_certificate_that_changes_is_read_again_and_one_that_is_broken_is_not_used() {
    let authority = Authority::new();
    let (cert, key) = authority.sign("server");
    let tls = Tls::load(TlsFiles { cert: cert.clone(), key, client_ca: None }).expect("files");
    let before = tls.config();
    assert!(!tls.refresh().expect("nothing has changed"));
    let touch = |at: u64| {
        let at = std::time::UNIX_EPOCH + Duration::from_secs(at);
        std::fs::File::open(&cert).and_then(|it| it.set_modified(at)).expect("a file");
    };
    std::fs::write(&cert, "not a certificate").expect("a file");
    touch(1);
    assert!(tls.refresh().is_err());
    assert!(Arc::ptr_eq(&before, &tls.config()), "the old one stays");
    authority.sign("server");
    touch(2);
    assert!(tls.refresh().expect("certificates"));
    assert!(!Arc::ptr_eq(&before, &tls.config()));
}

#[tokio::test]
async fn a_client_that_speaks_http_2_is_closed_and_others_are_served() {
    /// The preface of HTTP/2, empty settings, and the beginning and reset of one stream.
    const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00";
    const RESET: &[u8] = b"\x00\x00\x04\x03\x00\x00\x00\x00\x01\x00\x00\x00\x08";
    let server = Listening::with(settings(Limits::default())).await;
    for _ in 0..50 {
        let mut stream = server.open().await;
        stream.write_all(PREFACE).await.expect("it reads");
        for _ in 0..1000 {
            // The server may have closed the connection.
            if stream.write_all(RESET).await.is_err() {
                break;
            }
        }
        let told = ended(&mut stream).await;
        assert!(told.is_empty() || told.starts_with("HTTP/1.1 4"), "{told}");
    }
    assert!(server.told(HEALTH).await.starts_with("HTTP/1.1 200"), "others are served");
}
