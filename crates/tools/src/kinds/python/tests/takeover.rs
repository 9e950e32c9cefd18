//! Code that one execution leaves behind for the interpreter of the next.

use noetl_model::ExecutionId;

use super::*;

/// Runs calls of different executions one after the other; returns the last result.
async fn run_each(python: &Python, codes: &[&str]) -> Value {
    let mut last = Value::Null;
    for (execution, code) in (1..).zip(codes) {
        let call = Call { execution: ExecutionId(execution), ..call(json!({"code": code})) };
        last = match python.run(&call).await.outcome {
            Outcome::Completed { output } => (*output).clone(),
            Outcome::Failed { error, .. } => panic!("{}", error.message),
        };
    }
    last
}

fn with_variables(variables: &[(&str, &std::path::Path)]) -> Python {
    let mut settings = settings();
    for (name, value) in variables {
        settings.environment.insert((*name).to_owned(), value.display().to_string());
    }
    Python::new(&settings, Arc::new(Outgoing::new(Egress::Any, false)))
}

/// The code of a module that appends the process that imports it to a file.
fn reporting(file: &std::path::Path) -> String {
    format!("import os\nopen({:?}, 'a').write(f'{{os.getpid()}} ')\n", file.display().to_string())
}

fn importers(file: &std::path::Path) -> String {
    std::fs::read_to_string(file).unwrap_or_default()
}

#[tokio::test]
async fn a_module_that_claims_to_be_installed_is_not_imported_from_the_working_directory() {
    let directory = tempfile::tempdir().unwrap();
    let seen = directory.path().join("seen");
    let name = format!("planted_{}", std::process::id());
    let planted = std::env::current_dir().unwrap().join(format!("{name}.py"));
    std::fs::write(&planted, reporting(&seen)).unwrap();
    let claim = format!(
        "import sys, types\nm = types.ModuleType('{name}')\n\
         m.__file__ = sys.prefix + '/x.py'\nsys.modules['{name}'] = m\nresult = 1"
    );
    let look = format!("import sys\nresult = '{name}' in sys.modules");
    let loaded = run_each(&python(), &[&claim, &look, &look]).await;
    std::fs::remove_file(&planted).unwrap();
    assert_eq!((loaded, importers(&seen).as_str()), (json!(false), ""));
}

#[tokio::test]
async fn a_module_in_an_installed_directory_that_steps_can_write_is_not_kept() {
    let directory = tempfile::tempdir().unwrap();
    let seen = directory.path().join("seen");
    let venv = directory.path().join("venv");
    let made = std::process::Command::new("python3")
        .args(["-m", "venv", "--without-pip"])
        .arg(&venv)
        .status();
    assert!(made.unwrap().success());
    let plant = format!(
        "import sysconfig\nplace = sysconfig.get_path('purelib') + '/planted.py'\n\
         open(place, 'w').write({:?})\nimport planted, os\nresult = os.getpid()",
        reporting(&seen)
    );
    let program = venv.join("bin/python").display().to_string();
    let settings = ToolSettings { python: program, ..settings() };
    let python = Python::new(&settings, Arc::new(Outgoing::new(Egress::Any, false)));
    let own = run_each(&python, &[&plant]).await;
    run_each(&python, &["result = 1", "result = 2"]).await;
    assert_eq!(importers(&seen), format!("{own} "));
}

#[tokio::test]
async fn code_in_the_home_directory_of_a_user_is_not_run_at_the_start_of_an_interpreter() {
    let home = tempfile::tempdir().unwrap();
    let seen = home.path().join("seen");
    let place = "import site\nresult = site.getusersitepackages()";
    let place = run_each(&with_variables(&[("HOME", home.path())]), &[place]).await;
    let place = PathBuf::from(place.as_str().unwrap());
    assert!(place.starts_with(home.path()), "{}", place.display());
    std::fs::create_dir_all(&place).unwrap();
    std::fs::write(place.join("usercustomize.py"), reporting(&seen)).unwrap();
    let line = reporting(&seen).replace('\n', ";");
    std::fs::write(place.join("planted.pth"), line).unwrap();
    std::fs::write(place.join("personal.py"), "X = 1").unwrap();
    let find = "import importlib.util\nresult = importlib.util.find_spec('personal') is not None";
    let found = run_each(&with_variables(&[("HOME", home.path())]), &[find]).await;
    assert_eq!((found, importers(&seen).as_str()), (json!(false), ""));
    // With the setting, packages of the user are for code of steps only.
    let mut settings = settings();
    settings.environment.insert("HOME".to_owned(), home.path().display().to_string());
    let settings = ToolSettings { python_user_site: true, ..settings };
    let python = Python::new(&settings, Arc::new(Outgoing::new(Egress::Any, false)));
    let own = "import os, personal\nresult = [personal.X, os.getpid()]";
    let own = run_each(&python, &[own]).await;
    assert_eq!(own[0], json!(1));
    assert_eq!(importers(&seen), format!("{} ", own[1]));
}

#[tokio::test]
async fn a_module_on_the_search_path_does_not_replace_one_that_an_interpreter_needs() {
    let directory = tempfile::tempdir().unwrap();
    let seen = directory.path().join("seen");
    for module in ["decimal", "sitecustomize"] {
        let planted = directory.path().join(format!("{module}.py"));
        std::fs::write(planted, reporting(&seen)).unwrap();
    }
    std::fs::write(directory.path().join("beside.py"), "X = 1").unwrap();
    let python = with_variables(&[("PYTHONPATH", directory.path())]);
    // Code of steps still finds its own modules there.
    let code = "import beside, os\nresult = [beside.X, os.environ['PYTHONPATH']]";
    let path = directory.path().display().to_string();
    assert_eq!(run_each(&python, &[code]).await, json!([1, path]));
    assert_eq!(importers(&seen), "");
}
