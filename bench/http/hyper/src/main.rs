//! A server on hyper and Tokio, which answers as those in C++ do (../../server.hpp): http_hyper PORT [THREADS]

use hyper::header::{HeaderValue, CONNECTION, CONTENT_TYPE};
use hyper::server::conn::AddrIncoming;
use hyper::service::{make_service_fn, service_fn};
use hyper::{Body, Request, Response, Server};
use std::cell::Cell;
use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};
use tokio::net::TcpSocket;

fn json() -> Vec<u8> {
    let mut all = b"[".to_vec();
    while all.len() < 2000 {
        all.extend_from_slice(br#"{"name":"corewise","number":12345},"#);
    }
    *all.last_mut().unwrap() = b']';
    all
}

/// Keeps a core busy.
fn compute() {
    let until = Instant::now() + Duration::from_millis(2);
    while Instant::now() < until {}
}

async fn block() {
    tokio::task::spawn_blocking(|| std::thread::sleep(Duration::from_millis(5))).await.unwrap();
}

/// Returns whether this request is one of `n`, as this thread counts them.
fn is_one_of(n: u32) -> bool {
    thread_local!(static TURN: Cell<u32> = Cell::new(0));
    TURN.with(|turn| {
        turn.set(turn.get() + 1);
        turn.get() % n == 0
    })
}

async fn answer(asked: Request<Body>, json: &'static [u8]) -> Result<Response<Body>, Infallible> {
    let mut body: &'static [u8] = b"hello\n";
    match asked.uri().path() {
        "/json" => body = json,
        "/compute" => compute(),
        "/mixed" if is_one_of(100) => compute(),
        "/block" => block().await,
        "/blocking" if is_one_of(10) => block().await,
        _ => {}
    }
    let close = asked.headers().get(CONNECTION).map_or(false, |how| how == "close");
    let mut response = Response::new(Body::from(body));
    if close {
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close")); // hyper does not say so
    }
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain"));
    Ok(response)
}

async fn serve(port: u16) {
    let json: &'static [u8] = json().leak();
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_reuseaddr(true).unwrap();
    socket.bind(SocketAddr::from((Ipv4Addr::LOCALHOST, port))).unwrap();
    let listener = socket.listen(4096).unwrap();
    println!("{}", listener.local_addr().unwrap().port());
    let mut incoming = AddrIncoming::from_listener(listener).unwrap();
    incoming.set_nodelay(true);
    let service = make_service_fn(|_| async move {
        Ok::<_, Infallible>(service_fn(move |asked| answer(asked, json)))
    });
    Server::builder(incoming).serve(service).await.unwrap();
}

fn main() {
    let words: Vec<usize> = std::env::args().skip(1).map(|word| word.parse().expect("usage: http_hyper PORT [THREADS]")).collect();
    let port = words.first().copied().unwrap_or(0) as u16;
    let threads = words.get(1).copied().unwrap_or(2);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(threads).enable_all().build().unwrap();
    // The listener is a task of a worker's; the main thread only waits.
    runtime.block_on(async { tokio::spawn(serve(port)).await.unwrap() });
}
