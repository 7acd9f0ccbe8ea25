// convert.cc - in C++17: objects end by themselves, a failure is an exception, such as of the last
// call.
//
//   c++ -std=c++17 convert.cc -o convert $(pkg-config --cflags --libs fnz)
//   ./convert model.pt2
#include <fnz/fnz.h>

#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>

template <auto destroy> struct ends_by {
  template <class T> void operator()(T *object) const {
    destroy(object);
  }
};
using context = std::unique_ptr<fnz_context, ends_by<fnz_context_destroy>>;
using program = std::unique_ptr<fnz_program, ends_by<fnz_program_destroy>>;

// The object that a function of fnz makes: `made<program>(ctx, fnz_program_load, path, format)`.
template <class Owner, class Function, class... Arguments>
Owner made(const context &ctx, Function function, Arguments... arguments) {
  typename Owner::pointer object = nullptr;
  if (function(ctx.get(), arguments..., &object) != FNZ_OK)
    throw std::runtime_error(std::string(fnz_last_error(ctx.get())->where) + ": " +
                             fnz_last_error(ctx.get())->message);
  return Owner(object);
}

int main(int argc, char **argv) try {
  fnz_context *created = nullptr;
  if (argc < 2) {
    std::cerr << "usage: " << argv[0] << " PROGRAM.pt2\n";
    return 64;
  }
  if (fnz_context_create(nullptr, &created) != FNZ_OK)
    return 1;
  const context ctx(created);
  const auto traced = made<program>(ctx, fnz_program_load, argv[1], FNZ_FORMAT_AUTO);
  const auto functional = made<program>(ctx, fnz_functionalize, traced.get(), nullptr);
  std::cout << fnz_program_stats(traced.get()).mutations << " writes became "
            << fnz_program_stats(functional.get()).mutations << "\n";
  made<program>(ctx, fnz_program_load, "missing.pt2", FNZ_FORMAT_AUTO);
} catch (const std::runtime_error &error) {
  std::cout << error.what() << "\n";
}
