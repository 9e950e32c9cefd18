-- Lets a session stay idle while its client is alive, and ends it soon after the client's host is
-- gone.
SELECT
    set_config('idle_session_timeout', '0', FALSE),
    set_config('tcp_keepalives_idle', '30', FALSE),
    set_config('tcp_keepalives_interval', '10', FALSE),
    set_config('tcp_keepalives_count', '3', FALSE)
