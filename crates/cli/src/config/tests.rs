//! Precedence of settings, and rejected values.

use super::*;

#[track_caller]
fn check_database(variables: &[(&str, &str)], expected: &str) {
    assert_eq!(Config::of(variables).database(), Path::new(expected));
}

fn content(values: &[(Setting, &str)]) -> SettingsFile {
    let values = values.iter().map(|(setting, value)| (*setting, (*value).to_owned()));
    let prod = [
        (Setting::ServerUrl, "https://prod".to_owned()),
        (Setting::Token, "prod-token".to_owned()),
    ];
    SettingsFile {
        values: values.collect(),
        contexts: [("prod".to_owned(), prod.into_iter().collect())].into(),
    }
}

#[track_caller]
fn check_refused(variables: &[(&str, &str)], flags: &Flags, expected: &str) {
    match Config::with(variables, content(&[]), flags) {
        Err(Failure::BadInput(explained)) => assert_eq!(explained.to_string(), expected),
        Err(Failure::Invalid(_) | Failure::Broken(_)) | Ok(_) => panic!("it is not refused"),
    }
}

#[test]
fn the_database_is_where_the_nearest_variable_says() {
    let home = ("HOME", "/home/ada");
    check_database(&[home], "/home/ada/.local/share/noetl/noetl.db");
    check_database(&[home, ("XDG_DATA_HOME", "/data")], "/data/noetl/noetl.db");
    check_database(&[home, ("XDG_DATA_HOME", "/data"), ("NOETL_DB", "x.db")], "x.db");
}

#[test]
fn empty_and_relative_variables_count_as_unset() {
    let home = ("HOME", "/home/ada");
    let expected = "/home/ada/.local/share/noetl/noetl.db";
    check_database(&[home, ("XDG_DATA_HOME", "data")], expected);
    check_database(&[home, ("XDG_DATA_HOME", ""), ("NOETL_DB", " ")], expected);
}

#[test]
fn a_flag_wins_over_the_environment_that_over_the_file_that_over_the_default() {
    let row = Setting::LogFormat.row();
    let file = || content(&[(Setting::LogFormat, "text")]);
    let flags = Flags { log_format: Some("text".to_owned()), ..Flags::default() };
    let check = |variables: &[(&str, &str)], file, flags: &Flags, expected| {
        let config = Config::with(variables, file, flags).expect("it is right");
        assert_eq!(config.in_force(row).1, expected);
    };
    let json = [("NOETL_LOG_FORMAT", "json")];
    check(&[], content(&[]), &Flags::default(), Source::Default);
    check(&[], file(), &Flags::default(), Source::File);
    check(&json, file(), &Flags::default(), Source::Environment);
    check(&json, file(), &flags, Source::Flag);
}

#[test]
fn a_context_brings_its_server_and_its_token_together() {
    let flags = Flags { context: Some("prod".to_owned()), ..Flags::default() };
    let variables = [("NOETL_SERVER_URL", "http://dev"), ("NOETL_API_TOKEN", "dev-token")];
    let config = Config::with(&variables, content(&[]), &flags).expect("it is right");
    assert_eq!(config.server().map(String::from).as_deref(), Some("https://prod/"));
    assert_eq!(config.api_token(), Some("prod-token"));
}

#[test]
fn an_invalid_setting_is_refused_by_name() {
    check_refused(
        &[("NOETL_PORT", "eighty")],
        &Flags::default(),
        "the environment variable NOETL_PORT is not a number from 0 to 65535",
    );
    check_refused(
        &[("NOETL_SERVER_URL", "prod:8082")],
        &Flags::default(),
        "the environment variable NOETL_SERVER_URL is not a URL such as https://example.org:8082",
    );
    let flags = Flags { context: Some("prd".to_owned()), ..Flags::default() };
    check_refused(&[], &flags, "there is no context `prd`");
}

#[test]
fn settings_of_the_file_stand_for_environment_variables() {
    let file = content(&[(Setting::ToolsPython, "/py"), (Setting::PostgresHost, "db")]);
    let config = Config::with(&[("PATH", "/bin")], file, &Flags::default()).expect("it is right");
    let variables: BTreeMap<String, String> = config.variables().collect();
    assert_eq!(variables["NOETL_PYTHON"], "/py");
    assert_eq!(variables["PATH"], "/bin");
    assert_eq!(config.variable("POSTGRES_HOST").as_deref(), Some("db"));
    assert!(config.names_postgres());
}

#[test]
fn a_path_below_home_is_shortened() {
    let config = Config::of(&[("HOME", "/home/ada")]);
    assert_eq!(config.short(Path::new("/home/ada/x.db")), "~/x.db");
    assert_eq!(config.short(Path::new("/tmp/x.db")), "/tmp/x.db");
}

/// Returns the configuration of a user's and a project's settings.
fn layered(
    variables: &[(&str, &str)],
    user: &[(Setting, &str)],
    project: &[(Setting, &str)],
) -> Config {
    let layer = |author, values: &[(Setting, &str)]| Layer {
        path: PathBuf::from(file::NAME),
        author,
        content: SettingsFile {
            values: values.iter().map(|(key, value)| (*key, (*value).to_owned())).collect(),
            ..content(&[])
        },
    };
    let layers = vec![layer(Author::User, user), layer(Author::Project, project)];
    Config::of_parts(Environment::of(variables), layers, &Flags::default()).expect("it is right")
}

#[track_caller]
fn check_token(config: &Config, named: NamedBy, server: &str, expected: Result<&str, &str>) {
    let found = config.token_for(&server.parse().unwrap(), named);
    let found = found.map(Option::unwrap_or_default).map_err(|failure| match failure {
        Failure::BadInput(explained) => explained.to_string(),
        Failure::Invalid(_) | Failure::Broken(_) => panic!("another failure"),
    });
    assert_eq!(found.as_deref(), expected.map_err(str::to_owned).as_deref());
}

#[test]
fn a_token_of_the_user_is_not_shown_to_a_server_that_a_project_names() {
    let token = [("NOETL_API_TOKEN", "t")];
    let evil = [(Setting::ServerUrl, "https://evil")];
    let refused = Err("the token is not shown to https://evil: a project file names that server");
    let config = layered(&token, &[], &evil);
    check_token(&config, NamedBy::Settings, "https://evil", refused);
    // An address given by a flag is the user's choice.
    check_token(&config, NamedBy::Flag, "https://evil", Ok("t"));
    let of_file = layered(&[], &[(Setting::Token, "t")], &evil);
    check_token(&of_file, NamedBy::Settings, "https://evil", refused);
    let own = layered(&token, &[(Setting::ServerUrl, "https://mine")], &[]);
    check_token(&own, NamedBy::Settings, "https://mine", Ok("t"));
    let both = layered(&[], &[], &[(Setting::Token, "p"), evil[0]]);
    check_token(&both, NamedBy::Settings, "https://evil", Ok("p"));
    let database = layered(&token, &[], &[(Setting::Db, "x.db")]);
    check_token(&database, NamedBy::Database, "https://evil", refused);
    check_token(&own, NamedBy::Database, "http://127.0.0.1:8082", Ok("t"));
}

#[test]
fn a_token_that_is_bound_goes_to_its_origin_alone() {
    let bound = [("NOETL_API_TOKEN", "t"), ("NOETL_API_TOKEN_ORIGIN", "https://prod:8082/x")];
    let named = [(Setting::ServerUrl, "https://prod:8082")];
    let config = layered(&bound, &[], &named);
    check_token(&config, NamedBy::Settings, "https://prod:8082", Ok("t"));
    let refused =
        Err("the token is not shown to http://prod:8082: it is bound to https://prod:8082");
    check_token(&config, NamedBy::Flag, "http://prod:8082", refused);
    let context = layered(&[("NOETL_CONTEXT", "prod"), ("NOETL_API_TOKEN", "t")], &[], &[]);
    check_token(&context, NamedBy::Settings, "https://prod", Ok("prod-token"));
    let refused = Err("the token is not shown to https://other: it is bound to https://prod");
    check_token(&context, NamedBy::Flag, "https://other", refused);
}

#[test]
fn the_headers_of_a_collector_are_not_for_one_that_a_project_names() {
    let variables = [("OTEL_EXPORTER_OTLP_HEADERS", "key=k")];
    let headers = |config: Config| config.otel().expect("an endpoint").headers;
    let endpoint = [(Setting::OtelEndpoint, "http://collector")];
    assert_eq!(headers(layered(&variables, &endpoint, &[])), "key=k");
    assert_eq!(headers(layered(&variables, &[], &endpoint)), "");
}

#[test]
fn a_project_file_wins_over_the_users_where_both_speak() {
    let user = [(Setting::WorkerPool, "mine"), (Setting::EgressAllow, "10.0.0.0/8")];
    let config = layered(&[], &user, &[(Setting::WorkerPool, "gpu")]);
    assert_eq!((config.worker_pool(), config.egress_allow()), ("gpu", Some("10.0.0.0/8")));
}

#[test]
fn a_demonstration_uses_no_service_of_others() {
    let config = Config::of(&[
        ("NOETL_NATS_URL", "nats://broker:4222"),
        ("DATABASE_URL", "postgres://db/noetl"),
        ("NOETL_PAYLOAD_DIR", "/values"),
    ]);
    assert!(config.names_postgres());
    let alone = config.alone();
    assert!(!alone.names_postgres());
    assert_eq!(alone.variable("NOETL_NATS_URL"), None);
    assert_eq!(alone.payload_directory(), None);
}

#[test]
fn a_secret_can_be_in_a_file_that_its_variable_names() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("token");
    std::fs::write(&path, "s3cret\n").unwrap();
    let path = path.display().to_string();
    let config = Config::of(&[("NOETL_API_TOKEN_FILE", &path)]);
    assert_eq!(config.api_token(), Some("s3cret"));
    assert_eq!(config.secret_files(), [PathBuf::from(&path)]);
    let load = |variables: &[(&str, &str)]| {
        Config::with(variables, SettingsFile::default(), &Flags::default())
    };
    assert!(load(&[("NOETL_API_TOKEN_FILE", &path), ("NOETL_API_TOKEN", "x")]).is_err());
    assert!(load(&[("NOETL_API_TOKEN_FILE", "/no/such/file")]).is_err());
    // Other settings have no such variable.
    assert_eq!(Config::of(&[("NOETL_HOST_FILE", &path)]).listen(), "127.0.0.1:8082");
}
