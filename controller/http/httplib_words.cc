#include "controller/http/httplib_words.h"

namespace railgauge::http {

std::string_view words_of(httplib::Error error) {
  switch (error) {
    case httplib::Error::Connection:
      return "no connection: it is refused, or the host is unknown or away";
    case httplib::Error::Read:
      return "the connection ended, or its time was over, before an answer came";
    case httplib::Error::Write:
      return "the connection ended before all was sent";
    case httplib::Error::SSLConnection:
      return "TLS cannot be agreed on";
    case httplib::Error::SSLLoadingCerts:
      return "the file of its authorities cannot be read";
    case httplib::Error::SSLServerVerification:
      return "its certificate is not of an authority that is known here, or of another name";
    default:
      return "no answer";
  }
}

}  // namespace railgauge::http
