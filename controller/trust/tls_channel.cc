#include "controller/trust/tls_channel.h"

#include <openssl/err.h>
#include <openssl/pem.h>

#include <algorithm>
#include <array>
#include <limits>
#include <new>

#include <fmt/format.h>

#include "controller/clock/wall_clock.h"

namespace railgauge::trust {
namespace {

// The names that a client offers, each after a byte with its length; h2 is taken, else the
// handshake ends.
int choose_h2(SSL* /*ssl*/, const unsigned char** chosen, unsigned char* length,
              const unsigned char* offered, unsigned int size, void* /*user*/) {
  static constexpr std::array<unsigned char, 3> kH2{2, 'h', '2'};
  unsigned char* found = nullptr;
  if (SSL_select_next_proto(&found, length, kH2.data(), kH2.size(), offered, size) !=
      OPENSSL_NPN_NEGOTIATED)
    return SSL_TLSEXT_ERR_ALERT_FATAL;
  *chosen = found;
  return SSL_TLSEXT_ERR_OK;
}

tl::unexpected<Error> refused(std::string_view flag) {
  return fail(Code::kInvalidArgument, fmt::format("--{}: {}", flag, last_error()));
}

Status load_own(SSL_CTX* context, const Material& material) {
  const Bio chain = reader_of(material.certificate);
  const X509Object own = next_certificate(chain);
  if (!own || SSL_CTX_use_certificate(context, own.get()) != 1) return refused("tls-cert");
  while (const X509Object issuer = next_certificate(chain))
    if (SSL_CTX_add1_chain_cert(context, issuer.get()) != 1) return refused("tls-cert");
  ERR_clear_error();  // the end of the text is an error to the reader
  const Key key = private_key_of(material.key);
  if (!key || SSL_CTX_use_PrivateKey(context, key.get()) != 1) return refused("tls-key");
  return {};
}

// The clients' certificates are checked against these, and their names are sent to the client.
Status load_authorities(SSL_CTX* context, const Material& material) {
  const Bio text = reader_of(material.authority);
  int count = 0;
  while (const X509Object authority = next_certificate(text)) {
    if (X509_STORE_add_cert(SSL_CTX_get_cert_store(context), authority.get()) != 1 ||
        SSL_CTX_add_client_CA(context, authority.get()) != 1)
      return refused("tls-ca");
    ++count;
  }
  ERR_clear_error();
  if (count == 0) return fail(Code::kInvalidArgument, "--tls-ca: the file has no PEM certificate");
  return {};
}

int size_for_openssl(std::size_t size) {
  return static_cast<int>(std::min<std::size_t>(size, std::numeric_limits<int>::max()));
}

}  // namespace

Result<std::shared_ptr<const TlsServer>> TlsServer::make(const Material& material) {
  SslContext context(SSL_CTX_new(TLS_server_method()));
  RG_CHECK(static_cast<bool>(context));  // no memory
  SSL_CTX* raw = context.get();
  SSL_CTX_set_min_proto_version(raw, TLS1_2_VERSION);
  // A resumed session would skip the look at the client's certificate.
  SSL_CTX_set_session_cache_mode(raw, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_options(raw, SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
                               SSL_OP_CIPHER_SERVER_PREFERENCE);
  SSL_CTX_set_num_tickets(raw, 0);
  // An idle connection keeps no buffers: some 34 KiB less.
  SSL_CTX_set_mode(raw, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                            SSL_MODE_RELEASE_BUFFERS);
  // A read returns after each record: a peer can send any number of records without data.
  SSL_CTX_clear_mode(raw, SSL_MODE_AUTO_RETRY);
  // TLS 1.2 with forward secrecy and authenticated encryption only (RFC 9113, 9.2.2).
  RG_CHECK(SSL_CTX_set_cipher_list(raw, "ECDHE+AESGCM:ECDHE+CHACHA20") == 1);
  SSL_CTX_set_verify(raw, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  SSL_CTX_set_alpn_select_cb(raw, choose_h2, nullptr);
  ERR_clear_error();
  RG_TRY_OK(load_own(raw, material));
  RG_TRY_OK(load_authorities(raw, material));
  return std::shared_ptr<const TlsServer>(new TlsServer(std::move(context)));
}

// Certificates are valid or not by the calendar's clock.
TlsChannel::TlsChannel(const TlsServer& server, int fd) : ssl_(SSL_new(server.context_.get())) {
  if (!ssl_ || SSL_set_fd(ssl_.get(), fd) != 1) throw std::bad_alloc();
  X509_VERIFY_PARAM_set_time(SSL_get0_param(ssl_.get()), static_cast<time_t>(wall_seconds()));
  SSL_set_accept_state(ssl_.get());
}

TlsChannel::State TlsChannel::state_of(int result) const {
  const int error = SSL_get_error(ssl_.get(), result);
  return error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE ? State::kBlocked
                                                                       : State::kEnded;
}

// An older error in the thread's queue would decide over a call, so each call clears it.
TlsChannel::State TlsChannel::shake_hands() {
  ERR_clear_error();
  const int result = SSL_do_handshake(ssl_.get());
  if (result != 1) return state_of(result);
  const unsigned char* name = nullptr;  // a client without ALPN is not asked
  unsigned length = 0;
  SSL_get0_alpn_selected(ssl_.get(), &name, &length);
  return length == 0 ? State::kEnded : State::kDone;
}

TlsChannel::Moved TlsChannel::read(std::span<std::uint8_t> to) {
  ERR_clear_error();
  const std::uint64_t before = BIO_number_read(SSL_get_rbio(ssl_.get()));
  const int count = SSL_read(ssl_.get(), to.data(), size_for_openssl(to.size()));
  if (count > 0) return {State::kDone, static_cast<std::size_t>(count)};
  const State state = state_of(count);
  // Without a byte from the socket it is empty; after some, the next read shows it.
  const bool has_read = BIO_number_read(SSL_get_rbio(ssl_.get())) != before;
  return {state == State::kBlocked && has_read ? State::kBusy : state, 0};
}

TlsChannel::Moved TlsChannel::write(std::span<const std::uint8_t> from) {
  ERR_clear_error();
  const int count = SSL_write(ssl_.get(), from.data(), size_for_openssl(from.size()));
  if (count > 0) return {State::kDone, static_cast<std::size_t>(count)};
  return {state_of(count), 0};
}

void TlsChannel::finish() {
  ERR_clear_error();
  SSL_shutdown(ssl_.get());
}

Result<Certificate> TlsChannel::peer() const {
  const X509Object certificate(SSL_get1_peer_certificate(ssl_.get()));
  if (!certificate) return fail(Code::kInvalidArgument, "the client sent no certificate");
  const Bio text(BIO_new(BIO_s_mem()));
  if (PEM_write_bio_X509(text.get(), certificate.get()) != 1)
    return fail(Code::kInvalidArgument, fmt::format("the client's certificate: {}", last_error()));
  return parse_certificate(text_of(text));
}

}  // namespace railgauge::trust
