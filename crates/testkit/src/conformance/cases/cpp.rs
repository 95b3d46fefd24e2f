//! Programs in C++: what the language and its library owe, in WebAssembly as natively.

use crate::conformance::case::{
    Case, Ending, Error, Expected, Given, NOTHING, SILENT, Text, cpp, has, printed, reads, told,
};

pub(super) const CASES: &[Case] = &[
    Case {
        name: "c++: streams that are formatted",
        given: NOTHING,
        programs: &[cpp("#include <iomanip>\n#include <iostream>\nint main() {\n\
                         std::cout << 42 << ' ' << 3.14159265 << ' ' << true << ' ' << 'c' << \" text \" << 1e10 << ' ' << 1.0f / 3 << '\\n';\n\
                         std::cout << std::hex << 255 << ' ' << std::showbase << std::uppercase << 255 << std::dec << std::noshowbase << ' ' << std::oct << 8 << std::dec << '\\n';\n\
                         std::cout << std::setw(6) << 42 << '|' << std::left << std::setw(6) << 42 << '|' << std::setfill('*') << std::right << std::setw(6) << -42 << '|' << std::internal << std::setw(6) << -42 << '\\n';\n\
                         std::cout << std::fixed << std::setprecision(2) << 2.71828 << ' ' << std::scientific << 2.71828 << std::defaultfloat << ' ' << std::boolalpha << false << ' ' << std::showpos << 5 << std::endl;\n\
                         std::cout << std::quoted(\"a \\\"b\\\"\") << std::noshowpos << ' ' << 1LL << 40 << '\\n';\n}\n")],
        expected: printed(
            "42 3.14159 1 c text 1e+10 0.333333\nff 0XFF 10\n    42|42    |***-42|-***42\n\
            2.72 2.72E+00 false +5\n\"a \\\"b\\\"\" 140\n",
        ),
    },
    Case {
        name: "c++: standard input",
        given: reads("3 2.5 word rest\nthe line\n1 2 3\n\n40 2"),
        programs: &[cpp(
            "#include <iostream>\n#include <limits>\n#include <sstream>\n#include <string>\nint main() {\n\
                         int count;\ndouble real;\nstd::string word, line;\nstd::cin >> count >> real >> word;\n\
                         std::cin.ignore(std::numeric_limits<std::streamsize>::max(), '\\n');\n\
                         std::getline(std::cin, line);\n\
                         std::cout << count << ' ' << real << ' ' << word << \" [\" << line << \"]\\n\";\n\
                         while (std::getline(std::cin, line)) {\nstd::istringstream numbers(line);\nint sum = 0;\n\
                         for (int n; numbers >> n;) sum += n;\nstd::cout << sum << ' ';\n}\n\
                         std::cout << std::cin.eof() << '\\n';\n}\n",
        )],
        expected: printed("3 2.5 word [the line]\n6 0 42 1\n"),
    },
    Case {
        name: "c++: input that is no number",
        given: reads("seven"),
        programs: &[cpp("#include <iostream>\n#include <string>\nint main() {\nint n = 7;\nif (!(std::cin >> n)) {\n\
                         std::cin.clear();\nstd::string word;\nstd::cin >> word;\n\
                         std::cout << \"not a number: \" << word << ' ' << n << '\\n';\n}\n}\n")],
        expected: printed("not a number: seven 0\n"),
    },
    Case {
        name: "c++: arguments and environment",
        given: Given { args: &["one", "", "two words", "ü☃"], env: &["NAME=grüß dich"], ..NOTHING },
        programs: &[cpp("#include <cstdlib>\n#include <iostream>\n#include <string>\n#include <vector>\n\
                         int main(int argc, char *argv[]) {\nstd::vector<std::string> words(argv + 1, argv + argc);\n\
                         for (const auto &word : words) std::cout << '[' << word << ']' << word.size() << ' ';\n\
                         std::cout << std::getenv(\"NAME\") << ' ' << (std::getenv(\"MISSING\") == nullptr) << '\\n';\n}\n")],
        expected: printed("[one]3 []0 [two words]9 [ü☃]5 grüß dich 1\n"),
    },
    Case {
        name: "c++: files",
        given: has(&[("data.txt", "alpha\nbeta\n")]),
        programs: &[cpp("#include <fstream>\n#include <iostream>\n#include <string>\nint main() {\n\
                         std::ifstream in(\"data.txt\");\nstd::ofstream out(\"out.txt\");\nint number = 0;\n\
                         for (std::string line; std::getline(in, line);) out << ++number << \": \" << line << '\\n';\n\
                         out.close();\nstd::ifstream again(\"out.txt\", std::ios::binary | std::ios::ate);\n\
                         std::cout << again.tellg() << ' ';\nagain.seekg(3);\nstd::string word;\nagain >> word;\n\
                         std::cout << word << ' ' << std::ifstream(\"missing.txt\").is_open() << '\\n';\n\
                         std::ofstream(\"out.txt\", std::ios::app) << \"end\";\n}\n")],
        expected: Expected { stdout: Text::Is("17 alpha 0\n"), files: &[("out.txt", 20, "text/plain")], ..SILENT },
    },
    Case {
        name: "c++: the file system",
        given: NOTHING,
        programs: &[cpp("#include <algorithm>\n#include <filesystem>\n#include <fstream>\n#include <iostream>\n\
                         #include <vector>\nnamespace fs = std::filesystem;\nint main() {\nfs::create_directories(\"a/b\");\n\
                         std::ofstream(\"a/b/file.txt\") << \"12345\";\nfs::rename(\"a/b/file.txt\", \"a/moved.txt\");\n\
                         std::vector<std::string> found;\n\
                         for (const auto &entry : fs::recursive_directory_iterator(\"a\")) found.push_back(entry.path().generic_string());\n\
                         std::sort(found.begin(), found.end());\nfor (const auto &name : found) std::cout << name << ' ';\n\
                         fs::path path = \"dir/name.tar.gz\";\n\
                         std::cout << fs::file_size(\"a/moved.txt\") << ' ' << path.extension() << path.stem() << path.parent_path() << ' ' << fs::current_path() << '\\n';\n\
                         try {\nstd::cout << fs::file_size(\"missing\");\n} catch (const fs::filesystem_error &error) {\n\
                         std::cout << (error.code() == std::errc::no_such_file_or_directory) << ' ' << error.path1() << '\\n';\n\
                         }\nstd::cout << fs::remove_all(\"a\") << ' ' << fs::exists(\"a\") << '\\n';\n}\n")],
        expected: printed("a/b a/moved.txt 5 \".gz\"\"name.tar\"\"dir\" \"/box\"\n1 \"missing\"\n3 0\n"),
    },
    Case {
        name: "c++: several sources and a header",
        given: has(&[
            (
                "counter.hpp",
                "#pragma once\n#include <iosfwd>\n#include <map>\n#include <string>\nclass Counter {\npublic:\n\
                Counter &add(const std::string &word);\n\
                friend std::ostream &operator<<(std::ostream &out, const Counter &counter);\nprivate:\n\
                std::map<std::string, int> counts;\n};\ntemplate <class T> T twice(T value) { return value * 2; }\n",
            ),
            (
                "lib/counter.cpp",
                "#include \"../counter.hpp\"\n#include <ostream>\n\
                Counter &Counter::add(const std::string &word) { ++counts[word]; return *this; }\n\
                std::ostream &operator<<(std::ostream &out, const Counter &counter) {\n\
                for (const auto &[word, count] : counter.counts) out << word << count << ';';\nreturn out;\n}\n",
            ),
        ]),
        programs: &[cpp("#include <iostream>\n#include \"counter.hpp\"\nint main() {\nCounter counter;\n\
                         counter.add(\"b\").add(\"a\").add(\"b\");\nstd::cout << counter << ' ' << twice(21) << '\\n';\n}\n")],
        expected: printed("a1;b2; 42\n"),
    },
    Case {
        name: "c++: strings",
        given: told(&["--compiler-arg=-std=c++20"]),
        programs: &[cpp("#include <algorithm>\n#include <cctype>\n#include <iostream>\n#include <string>\n\
                         #include <string_view>\nint main() {\nstd::string text = \"hello, world\";\n\
                         text.replace(0, 5, \"HELLO\").insert(5, \"!\").append(3, '.');\n\
                         std::cout << text << ' ' << text.find(\"wor\") << ' ' << (text.find('z') == std::string::npos) << ' ' << text.substr(8, 3) << '\\n';\n\
                         std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::toupper(c); });\n\
                         std::reverse(text.begin(), text.end());\n\
                         std::cout << text << ' ' << std::stoi(\"42abc\") << ' ' << std::stod(\"2.5e2\") << ' ' << std::to_string(3.5) << ' ' << std::stoll(\"-9000000000\") << '\\n';\n\
                         std::string_view view = \"  trimmed  \";\nview.remove_prefix(view.find_first_not_of(' '));\n\
                         view = view.substr(0, view.find_last_not_of(' ') + 1);\n\
                         std::cout << '[' << view << \"] \" << view.starts_with(\"trim\") << view.ends_with(\"x\") << ' ' << (std::string(\"a\") < \"b\") << ' ' << R\"(raw \\n)\" << '\\n';\n\
                         try {\ntext.at(100);\n} catch (const std::out_of_range &) {\nstd::cout << \"out of range\\n\";\n}\n\
                         }\n")],
        expected: printed(
            "HELLO!, world... 8 1 wor\n...DLROW ,!OLLEH 42 250 3.500000 -9000000000\n[trimmed] 10 1 raw \\n\n\
            out of range\n",
        ),
    },
    Case {
        name: "c++: vectors and algorithms",
        given: NOTHING,
        programs: &[cpp("#include <algorithm>\n#include <iostream>\n#include <iterator>\n#include <numeric>\n\
                         #include <vector>\ntemplate <class T> void show(const T &all) {\n\
                         std::copy(std::begin(all), std::end(all), std::ostream_iterator<int>(std::cout, \" \"));\n\
                         std::cout << '\\n';\n}\nint main() {\nstd::vector<int> v{5, 2, 9, 1, 5, 6};\n\
                         std::sort(v.begin(), v.end());\nv.erase(std::unique(v.begin(), v.end()), v.end());\nshow(v);\n\
                         std::rotate(v.begin(), v.begin() + 2, v.end());\nv.insert(v.begin() + 1, {7, 7});\nshow(v);\n\
                         std::partial_sum(v.begin(), v.end(), v.begin());\nshow(v);\n\
                         std::cout << std::accumulate(v.begin(), v.end(), 0) << ' ' << *std::max_element(v.begin(), v.end()) << ' ' << std::count_if(v.begin(), v.end(), [](int n) { return n % 2; })\n\
                         << ' ' << std::gcd(12, 18) << ' ' << std::lcm(4, 6) << ' ' << std::binary_search(v.begin(), v.end(), 12) << '\\n';\n\
                         std::vector<int> w(5);\nstd::iota(w.begin(), w.end(), 1);\nint permutations = 0;\n\
                         do permutations++; while (std::next_permutation(w.begin(), w.end()));\n\
                         std::cout << permutations << ' ' << std::inner_product(w.begin(), w.end(), w.begin(), 0) << ' ' << std::clamp(15, 0, 10) << '\\n';\n\
                         }\n")],
        expected: printed("1 2 5 6 9 \n5 7 7 6 9 1 2 \n5 12 19 25 34 35 37 \n167 37 5 6 12 1\n120 55 10\n"),
    },
    Case {
        name: "c++: sorting that is stable",
        given: NOTHING,
        programs: &[cpp(
            "#include <algorithm>\n#include <iostream>\n#include <string>\n#include <vector>\nint main() {\n\
                         std::vector<std::pair<int, std::string>> all{{2, \"a\"}, {1, \"b\"}, {2, \"c\"}, {1, \"d\"}, {3, \"e\"}, {2, \"f\"}};\n\
                         std::stable_sort(all.begin(), all.end(), [](const auto &a, const auto &b) { return a.first < b.first; });\n\
                         for (const auto &[number, name] : all) std::cout << number << name << ' ';\n\
                         std::sort(all.begin(), all.end(), [](const auto &a, const auto &b) { return a.second > b.second; });\n\
                         std::nth_element(all.begin(), all.begin() + 2, all.end());\nstd::cout << all[2].second << '\\n';\n\
                         }\n",
        )],
        expected: printed("1b 1d 2a 2c 2f 3e a\n"),
    },
    Case {
        name: "c++: containers",
        given: told(&["--compiler-arg=-std=c++20"]),
        programs: &[cpp("#include <array>\n#include <deque>\n#include <iostream>\n#include <list>\n#include <map>\n\
                         #include <queue>\n#include <set>\n#include <stack>\n#include <string>\nint main() {\n\
                         std::map<std::string, int> ages{{\"bob\", 22}, {\"ann\", 45}};\nages[\"cid\"] = 31;\n\
                         ages.try_emplace(\"bob\", 99);\n\
                         for (const auto &[name, age] : ages) std::cout << name << '=' << age << ' ';\n\
                         std::set<int> numbers{3, 1, 2, 3};\nstd::multimap<int, char> many{{1, 'a'}, {1, 'b'}};\n\
                         std::cout << numbers.size() << *numbers.lower_bound(2) << many.count(1) << ages.contains(\"dee\") << '\\n';\n\
                         std::priority_queue<int, std::vector<int>, std::greater<>> heap;\n\
                         for (int n : {5, 1, 4}) heap.push(n);\nstd::deque<int> both{2};\nboth.push_front(1);\n\
                         both.push_back(3);\nstd::list<int> list{3, 1, 2};\nlist.sort();\nlist.remove(2);\n\
                         std::stack<int> stack;\nstack.push(7);\nstd::array<int, 3> fixed{1, 2, 3};\n\
                         std::cout << heap.top() << both.front() << both.back() << list.back() << list.size() << stack.top() << fixed.at(1) << '\\n';\n\
                         }\n")],
        expected: printed("ann=45 bob=22 cid=31 3220\n1133272\n"),
    },
    Case {
        name: "c++: hash tables",
        given: told(&["--compiler-arg=-std=c++20"]),
        programs: &[cpp("#include <algorithm>\n#include <iostream>\n#include <string>\n#include <unordered_map>\n\
                         #include <unordered_set>\n#include <vector>\n\
                         struct Point { int x, y; bool operator==(const Point &) const = default; };\n\
                         template <> struct std::hash<Point> { std::size_t operator()(const Point &p) const noexcept { return p.x * 31u + p.y; } };\n\
                         int main() {\nstd::unordered_map<std::string, int> counts;\n\
                         for (const char *word : {\"b\", \"a\", \"c\", \"a\", \"b\", \"a\"}) ++counts[word];\n\
                         std::vector<std::pair<std::string, int>> sorted(counts.begin(), counts.end());\n\
                         std::sort(sorted.begin(), sorted.end(), [](auto &a, auto &b) { return a.second > b.second; });\n\
                         for (auto &[word, count] : sorted) std::cout << word << count << ' ';\n\
                         std::unordered_set<Point> points{{1, 2}, {1, 2}, {3, 4}};\n\
                         std::cout << points.size() << points.count({3, 4}) << points.count({5, 6}) << '\\n';\n\
                         for (int i = 0; i < 100000; i++) counts[std::to_string(i)] = i;\n\
                         std::cout << counts.size() << ' ' << counts[\"99999\"] << '\\n';\n}\n")],
        expected: printed("a3 b2 c1 210\n100003 99999\n"),
    },
    Case {
        name: "c++: ranges",
        given: NOTHING,
        programs: &[cpp(
            "#include <algorithm>\n#include <iostream>\n#include <ranges>\n#include <string>\n#include <vector>\n\
                         int main() {\nauto even = [](int n) { return n % 2 == 0; };\n\
                         for (int n : std::views::iota(1, 20) | std::views::filter(even) | std::views::transform([](int n) { return n * n; }) | std::views::take(4)) std::cout << n << ' ';\n\
                         std::vector<std::string> words{\"pear\", \"fig\", \"apple\"};\n\
                         std::ranges::sort(words, {}, &std::string::size);\n\
                         for (const auto &word : words | std::views::reverse) std::cout << word << ' ';\n\
                         std::cout << std::ranges::count_if(words, [](auto &w) { return w.size() > 3; }) << ' ' << *std::ranges::max_element(words) << '\\n';\n\
                         }\n",
        )],
        expected: printed("4 16 36 64 apple pear fig 2 pear\n"),
    },
    Case {
        name: "c++: lambdas and functions",
        given: NOTHING,
        programs: &[cpp("#include <functional>\n#include <iostream>\n#include <vector>\n\
                         std::function<int(int)> compose(std::function<int(int)> f, std::function<int(int)> g) {\n\
                         return [=](int x) { return f(g(x)); };\n}\nint main() {\nint total = 0;\n\
                         auto add = [&total](int n) { return total += n; };\nfor (int n : {1, 2, 3}) add(n);\n\
                         auto counter = [n = 10]() mutable { return n++; };\ncounter();\n\
                         std::cout << total << counter() << compose([](int x) { return x + 1; }, [](int x) { return x * 2; })(5) << ' ';\n\
                         std::function<int(int)> factorial = [&](int n) { return n < 2 ? 1 : n * factorial(n - 1); };\n\
                         auto generic = [](auto a, auto b) { return a + b; };\n\
                         std::cout << factorial(10) << ' ' << generic(1, 2.5) << ' ' << std::bind(std::minus<>(), std::placeholders::_2, 10)(0, 3) << '\\n';\n\
                         }\n")],
        expected: printed("61111 3628800 3.5 -7\n"),
    },
    Case {
        name: "c++: templates and constant expressions",
        given: NOTHING,
        programs: &[cpp("#include <array>\n#include <iostream>\n#include <string>\n#include <type_traits>\n\
                         template <int N> struct Factorial { static constexpr long long value = N * Factorial<N - 1>::value; };\n\
                         template <> struct Factorial<0> { static constexpr long long value = 1; };\n\
                         template <class... T> auto sum(T... values) { return (values + ... + 0); }\n\
                         template <class T> std::string kind() {\nif constexpr (std::is_pointer_v<T>) return \"pointer\";\n\
                         else if constexpr (std::is_integral_v<T>) return \"integer\";\nelse return \"other\";\n}\n\
                         constexpr auto squares = [] {\nstd::array<int, 5> all{};\n\
                         for (int i = 0; i < 5; i++) all[i] = i * i;\nreturn all;\n}();\n\
                         static_assert(squares[4] == 16 && Factorial<5>::value == 120);\n\
                         template <class T, int N> constexpr int length(const T (&)[N]) { return N; }\nint main() {\n\
                         int numbers[] = {1, 2, 3};\n\
                         std::cout << Factorial<20>::value << ' ' << sum(1, 2.5, 'a') << ' ' << kind<int *>() << kind<char>() << kind<double>() << ' ' << squares[3] << length(numbers) << '\\n';\n\
                         }\n")],
        expected: printed("2432902008176640000 100.5 pointerintegerother 93\n"),
    },
    Case {
        name: "c++: concepts and comparison",
        given: told(&["--compiler-arg=-std=c++20"]),
        programs: &[cpp(
            "#include <compare>\n#include <concepts>\n#include <iostream>\n#include <set>\n#include <string>\n\
                         struct Version {\nint major, minor;\nstd::string name;\n\
                         auto operator<=>(const Version &) const = default;\n};\n\
                         template <class T> concept Shape = requires(const T &shape) { { shape.area() } -> std::convertible_to<double>; };\n\
                         struct Square { double side; double area() const { return side * side; } };\n\
                         double measure(const Shape auto &shape) { return shape.area(); }\n\
                         const char *measure(const auto &) { return \"no shape\"; }\nint main() {\n\
                         Version a{1, 2, \"x\"}, b{1, 10, \"a\"};\n\
                         std::cout << (a < b) << (a == a) << ((a <=> b) > 0) << std::set<Version>{b, a, b}.size() << ' ' << measure(Square{3}) << ' ' << measure(5) << '\\n';\n\
                         std::cout << ((1.0 <=> 0.0 / 0.0) == std::partial_ordering::unordered) << '\\n';\n}\n",
        )],
        expected: printed("1102 9 no shape\n1\n"),
    },
    Case {
        name: "c++: classes",
        given: NOTHING,
        programs: &[cpp(
            "#include <iostream>\n#include <memory>\n#include <typeinfo>\n#include <vector>\nstruct Shape {\n\
                         virtual ~Shape() { std::cout << \"~Shape \"; }\nvirtual double area() const = 0;\n\
                         virtual const char *name() const { return \"shape\"; }\n};\nstruct Square : Shape {\n\
                         explicit Square(double side) : side(side) {}\n~Square() override { std::cout << \"~Square \"; }\n\
                         double area() const override { return side * side; }\n\
                         const char *name() const override { return \"square\"; }\ndouble side;\n};\n\
                         struct Circle final : Shape { double area() const override { return 3; } };\n\
                         struct A { virtual ~A() = default; int a = 1; };\nstruct B : virtual A { int b = 2; };\n\
                         struct C : virtual A { int c = 3; };\nstruct D : B, C { int d = 4; };\nint main() {\n\
                         std::vector<std::unique_ptr<Shape>> shapes;\nshapes.push_back(std::make_unique<Square>(2));\n\
                         shapes.push_back(std::make_unique<Circle>());\nfor (const auto &owned : shapes) {\n\
                         Shape &shape = *owned;\n\
                         std::cout << shape.name() << shape.area() << (dynamic_cast<Square *>(&shape) != nullptr) << (typeid(shape) == typeid(Circle)) << ' ';\n\
                         }\nshapes.pop_back();\nshapes.pop_back();\nD d;\nA *base = &d;\n\
                         std::cout << dynamic_cast<C *>(base)->c << dynamic_cast<D *>(base)->d << d.a << '\\n';\ntry {\n\
                         A plain;\nA &reference = plain;\nstd::cout << dynamic_cast<B &>(reference).b;\n\
                         } catch (const std::bad_cast &) {\nstd::cout << \"bad cast\\n\";\n}\n}\n",
        )],
        expected: printed("square410 shape301 ~Shape ~Square ~Shape 341\nbad cast\n"),
    },
    Case {
        name: "c++: moves and copies",
        given: NOTHING,
        programs: &[cpp(
            "#include <iostream>\n#include <string>\n#include <utility>\n#include <vector>\nstruct Tracer {\n\
                         std::string name;\nTracer(std::string name) : name(std::move(name)) {}\n\
                         Tracer(const Tracer &other) : name(other.name + \"'\") {}\n\
                         Tracer(Tracer &&other) noexcept : name(std::exchange(other.name, \"moved\")) {}\n\
                         Tracer &operator=(Tracer other) { std::swap(name, other.name); return *this; }\n};\nint main() {\n\
                         Tracer a(\"a\"), b(a), c(std::move(a));\nb = c;\nstd::vector<Tracer> all{c};\n\
                         all.emplace_back(\"d\");\nall.push_back(std::move(c));\n\
                         for (const auto &tracer : all) std::cout << tracer.name << ' ';\n\
                         std::cout << a.name << ' ' << b.name << ' ' << c.name << '\\n';\n}\n",
        )],
        expected: printed("a'' d a moved a' moved\n"),
    },
    Case {
        name: "c++: exceptions",
        given: NOTHING,
        programs: &[cpp("#include <exception>\n#include <iostream>\n#include <stdexcept>\n#include <string>\n\
                         #include <vector>\n\
                         struct Guard { const char *name; ~Guard() { std::cout << '~' << name << ' '; } };\n\
                         struct Custom : std::exception { const char *what() const noexcept override { return \"custom\"; } };\n\
                         void fail(int how) {\nGuard guard{\"fail\"};\n\
                         if (how == 0) throw std::invalid_argument(\"argument\");\nif (how == 1) throw 42;\n\
                         if (how == 2) throw Custom();\nif (how == 3) std::vector<int>().at(5);\n\
                         throw std::string(\"text\");\n}\nint main() {\nfor (int how = 0; how < 5; how++) {\ntry {\n\
                         Guard guard{\"try\"};\nfail(how);\n} catch (const std::logic_error &error) {\n\
                         std::cout << \"logic \" << (how == 0 ? error.what() : \"\");\n\
                         } catch (const std::exception &error) {\nstd::cout << error.what();\n} catch (int number) {\n\
                         std::cout << number;\n} catch (...) {\nstd::cout << \"unknown \" << std::uncaught_exceptions();\n}\n\
                         std::cout << '\\n';\n}\ntry {\n\
                         try { throw std::runtime_error(\"inner\"); } catch (...) { std::throw_with_nested(std::runtime_error(\"outer\")); }\n\
                         } catch (const std::exception &error) {\nstd::cout << error.what();\n\
                         try { std::rethrow_if_nested(error); } catch (const std::exception &inner) { std::cout << ' ' << inner.what() << '\\n'; }\n\
                         }\nstd::exception_ptr kept;\ntry { throw 7; } catch (...) { kept = std::current_exception(); }\n\
                         try { std::rethrow_exception(kept); } catch (int n) { std::cout << n << '\\n'; }\n}\n")],
        expected: printed(
            "~fail ~try logic argument\n~fail ~try 42\n~fail ~try custom\n~fail ~try logic \n\
            ~fail ~try unknown 0\nouter inner\n7\n",
        ),
    },
    Case {
        name: "c++: smart pointers",
        given: NOTHING,
        programs: &[cpp(
            "#include <iostream>\n#include <memory>\nstruct Node {\nint value;\nstd::shared_ptr<Node> next;\n\
                         std::weak_ptr<Node> parent;\n~Node() { std::cout << '~' << value << ' '; }\n};\nint main() {\n\
                         auto first = std::make_shared<Node>(Node{1, nullptr, {}});\n\
                         first->next = std::make_shared<Node>();\nfirst->next->value = 2;\nfirst->next->parent = first;\n\
                         std::weak_ptr<Node> watch = first->next;\n\
                         std::cout << first.use_count() << watch.use_count() << (watch.lock()->parent.lock() == first) << ' ';\n\
                         first.reset();\nstd::cout << watch.expired() << '\\n';\n\
                         std::unique_ptr<int[]> numbers(new int[3]{1, 2, 3});\n\
                         auto closer = [](int *p) { std::cout << \"closed \" << *p; delete p; };\n\
                         std::unique_ptr<int, decltype(closer)> owned(new int(9), closer);\nstd::cout << numbers[2] << ' ';\n\
                         }\n",
        )],
        expected: printed("~1 111 ~1 ~2 1\n3 closed 9"),
    },
    Case {
        name: "c++: optional, variant, any, tuple",
        given: NOTHING,
        programs: &[cpp(
            "#include <any>\n#include <iostream>\n#include <optional>\n#include <string>\n#include <tuple>\n\
                         #include <variant>\nstd::optional<int> half(int n) {\nif (n % 2) return std::nullopt;\n\
                         return n / 2;\n}\ntemplate <class... T> struct Overload : T... { using T::operator()...; };\n\
                         template <class... T> Overload(T...) -> Overload<T...>;\nint main() {\n\
                         std::cout << *half(10) << half(3).value_or(-1) << half(4).has_value() << ' ';\n\
                         using Value = std::variant<int, double, std::string>;\n\
                         for (const Value &value : {Value(1), Value(2.5), Value(\"s\")}) {\n\
                         std::visit(Overload{[](int) { std::cout << \"int \"; }, [](double d) { std::cout << d << ' '; }, [](const std::string &s) { std::cout << s << ' '; }}, value);\n\
                         std::cout << value.index() << ' ';\n}\nstd::any anything = std::string(\"any\");\n\
                         std::cout << std::any_cast<std::string>(anything) << (std::any_cast<int>(&anything) == nullptr);\n\
                         try { std::any_cast<int>(anything); } catch (const std::bad_any_cast &) { std::cout << \" bad\"; }\n\
                         auto [a, b, c] = std::tuple(1, 'x', 2.5);\nint first, second;\n\
                         std::tie(first, second) = std::pair(3, 4);\n\
                         std::cout << ' ' << a << b << c << first << second << std::get<1>(std::tuple_cat(std::tuple(1), std::tuple(\"y\"))) << std::apply([](auto... n) { return (n + ...); }, std::tuple(1, 2, 3)) << '\\n';\n\
                         }\n",
        )],
        expected: printed("5-11 int 0 2.5 1 s 2 any1 bad 1x2.534y6\n"),
    },
    Case {
        name: "c++: times",
        given: told(&["--compiler-arg=-std=c++20"]),
        programs: &[cpp("#include <chrono>\n#include <iostream>\nusing namespace std::chrono;\n\
                         using namespace std::chrono_literals;\nint main() {\nauto length = 1h + 30min + 15s;\n\
                         std::cout << duration_cast<seconds>(length).count() << ' ' << duration_cast<minutes>(length).count() << ' ' << (90s == 1.5min) << ' ' << length % 1min / 1s << '\\n';\n\
                         sys_days day = year_month_day(2024y, February, 28d);\nyear_month_day next = day + days(2);\n\
                         std::cout << int(next.year()) << '-' << unsigned(next.month()) << '-' << unsigned(next.day()) << ' ' << weekday(day).c_encoding() << ' ' << year(2024).is_leap() << ' ' << day.time_since_epoch().count() << '\\n';\n\
                         auto start = steady_clock::now();\n\
                         std::cout << (steady_clock::now() >= start) << (system_clock::now().time_since_epoch() > hours(24 * 365 * 50)) << '\\n';\n\
                         }\n")],
        expected: printed("5415 90 1 15\n2024-3-1 3 1 19781\n11\n"),
    },
    Case {
        name: "c++: random numbers of a seed",
        given: NOTHING,
        programs: &[cpp("#include <iostream>\n#include <random>\nint main() {\nstd::mt19937 engine(42);\n\
                         std::cout << engine() << ' ' << engine() << ' ';\nengine.discard(998);\n\
                         std::cout << engine() << ' ' << std::mt19937_64()() << ' ' << std::minstd_rand(1)() << '\\n';\n\
                         std::uniform_int_distribution<int> die(1, 6);\nbool inside = true;\n\
                         for (int i = 0; i < 1000; i++) {\nint n = die(engine);\ninside = inside && n >= 1 && n <= 6;\n}\n\
                         std::cout << inside << ' ' << (std::random_device()() != std::random_device()()) << '\\n';\n}\n")],
        expected: printed("1608637542 3421126067 2998581749 14514284786278117030 48271\n1 1\n"),
    },
    Case {
        name: "c++: regular expressions",
        given: NOTHING,
        programs: &[cpp("#include <iostream>\n#include <regex>\n#include <string>\nint main() {\n\
                         std::string text = \"ann 45, bob 22, cid 31\";\nstd::regex pattern(\"(\\\\w+) (\\\\d+)\");\n\
                         for (std::sregex_iterator match(text.begin(), text.end(), pattern), end; match != end; ++match) std::cout << (*match)[2] << (*match)[1] << ' ';\n\
                         std::cout << std::regex_replace(text, pattern, \"$2:$1\") << ' ' << std::regex_match(\"2024-01-31\", std::regex(\"\\\\d{4}-\\\\d{2}-\\\\d{2}\")) << '\\n';\n\
                         std::smatch found;\n\
                         std::cout << std::regex_search(text, found, std::regex(\"B.B\", std::regex::icase)) << found.position() << found.prefix() << '\\n';\n\
                         try {\nstd::regex broken(\"(unclosed\");\n} catch (const std::regex_error &error) {\n\
                         std::cout << (error.code() == std::regex_constants::error_paren) << '\\n';\n}\n}\n")],
        expected: printed("45ann 22bob 31cid 45:ann, 22:bob, 31:cid 1\n18ann 45, \n1\n"),
    },
    Case {
        name: "c++: bits and numbers",
        given: told(&["--compiler-arg=-std=c++20"]),
        programs: &[cpp(
            "#include <bit>\n#include <bitset>\n#include <cmath>\n#include <complex>\n#include <cstdint>\n\
                         #include <iostream>\n#include <limits>\n#include <numeric>\nint main() {\n\
                         std::bitset<8> bits(\"10110010\");\nbits.flip(0).set(6);\n\
                         std::cout << bits << ' ' << bits.count() << ' ' << bits.to_ulong() << ' ' << (bits << 2) << ' ' << 0b1010 << ' ' << 1'000'000 << '\\n';\n\
                         std::cout << std::popcount(255u) << std::countl_zero(std::uint32_t{1}) << std::has_single_bit(64u) << ' ' << std::bit_cast<std::uint32_t>(1.0f) << ' ' << std::midpoint(3, 8) << '\\n';\n\
                         std::complex<double> z(3, 4);\n\
                         std::cout << std::abs(z) << z * z << std::conj(z) << ' ' << std::hypot(2, 3, 6) << ' ' << std::lerp(0.0, 10.0, 0.25) << '\\n';\n\
                         std::cout << std::numeric_limits<int>::max() << ' ' << std::numeric_limits<std::uint64_t>::max() << ' ' << std::numeric_limits<double>::digits10 << ' ' << std::int64_t{1} * 3000000000 * 3 << '\\n';\n\
                         }\n",
        )],
        expected: printed(
            "11110011 6 243 11001100 10 1000000\n8311 1065353216 5\n5(-7,24)(3,-4) 7 2.5\n\
            2147483647 18446744073709551615 15 9000000000\n",
        ),
    },
    Case {
        name: "c++: every header at once",
        given: reads("4 4\n1 2 5\n2 3 1000000000\n3 4 1000000000\n1 3 7\n"),
        programs: &[cpp(
            "#include <bits/stdc++.h>\nusing namespace std;\ntypedef long long ll;\nconst int N = 200005;\n\
                         ll tree[N];\nvector<pair<int, int>> edges[N];\nint main() {\nios::sync_with_stdio(false);\n\
                         cin.tie(nullptr);\nint n, m;\ncin >> n >> m;\nfor (int i = 0, a, b, w; i < m; i++) {\n\
                         cin >> a >> b >> w;\nedges[a].push_back({b, w});\nedges[b].emplace_back(a, w);\n}\n\
                         vector<ll> distance(n + 1, LLONG_MAX);\n\
                         priority_queue<pair<ll, int>, vector<pair<ll, int>>, greater<>> queue;\n\
                         queue.push({distance[1] = 0, 1});\nwhile (!queue.empty()) {\nauto [d, at] = queue.top();\n\
                         queue.pop();\nif (d > distance[at]) continue;\nfor (auto [to, w] : edges[at])\n\
                         if (d + w < distance[to]) queue.push({distance[to] = d + w, to});\n}\n\
                         for (int i = 1; i <= n; i++) cout << distance[i] << \" \\n\"[i == n];\n\
                         for (int i = 1; i < N; i += i & -i) tree[i] += 5;\n\
                         cout << accumulate(tree, tree + N, 0LL) << ' ' << gcd(12, 18) << '\\n';\n}\n",
        )],
        expected: printed("0 5 7 1000000007\n90 6\n"),
    },
    Case {
        name: "c++: names of headers that are not included",
        given: NOTHING,
        programs: &[cpp("#include <iostream>\nusing namespace std;\nint count = 0, distance = 5, rank = 2;\n\
                         struct list { int size; };\nstruct barrier { list items; };\n\
                         int find(int n) { return n + ::distance; }\nint main() {\nbarrier all{{::count + ::distance}};\n\
                         ::count++;\ncout << all.items.size << ::count << ' ' << find(3) << endl;\n}\n")],
        expected: printed("51 8\n"),
    },
    Case {
        name: "c++: functions of headers that are not included",
        given: NOTHING,
        programs: &[cpp("#include <iostream>\nusing namespace std;\n\
                         double midpoint(double a, double b) { return (a + b) / 2; }\n\
                         long long lcm(long long a, long long b) { return a / 1 * b; }\n\
                         int main() {\nint large = 100000;\n\
                         cout << midpoint(1, 2) << ' ' << lcm(large, large) << endl;\n}\n")],
        expected: printed("1.5 10000000000\n"),
    },
    Case {
        name: "c++: what lives as long as the program",
        given: NOTHING,
        programs: &[cpp("#include <cstdlib>\n#include <iostream>\nstruct Named {\nconst char *name;\n\
                         Named(const char *name) : name(name) { std::cout << '+' << name << ' '; }\n\
                         ~Named() { std::cout << '-' << name << ' '; }\n};\nNamed first(\"first\"), second(\"second\");\n\
                         Named &lazy() {\nstatic Named inside(\"lazy\");\nreturn inside;\n}\nint main() {\n\
                         Named local(\"local\");\nlazy();\nlazy();\nstd::atexit([] { std::cout << \"atexit \"; });\n\
                         std::cout << \"main \";\n}\n")],
        expected: printed("+first +second +local +lazy main -local atexit -lazy -second -first "),
    },
    Case {
        name: "c++: standard error",
        given: NOTHING,
        programs: &[cpp("#include <iostream>\nint main() {\nstd::cerr << \"one \" << 2 << '\\n';\n\
                         std::clog << \"log\" << std::endl;\nstd::cout << \"out\" << std::endl;\nreturn 3;\n}\n")],
        expected: Expected {
            ending: Ending::Exit(3),
            stdout: Text::Is("out\n"),
            stderr: Text::Is("one 2\nlog\n"),
            ..SILENT
        },
    },
    Case {
        name: "c++: an exit code of more than a byte",
        given: NOTHING,
        programs: &[cpp("#include <cstdlib>\n#include <iostream>\n\
                         struct Static { ~Static() { std::cout << \"destroyed\\n\"; } } object;\n\
                         int main() { std::exit(300); }\n")],
        expected: Expected { ending: Ending::Exit(44), stdout: Text::Is("destroyed\n"), ..SILENT },
    },
    Case {
        name: "c++: an exception that nobody catches",
        given: NOTHING,
        programs: &[cpp(
            "#include <iostream>\n#include <stdexcept>\nint main() {\nstd::cout << \"before\" << std::endl;\n\
                         throw std::runtime_error(\"boom\");\n}\n",
        )],
        expected: Expected {
            ending: Ending::Signal("SIGABRT"),
            stdout: Text::Is("before\n"),
            stderr: Text::Has("boom"),
            error: Some(Error { kind: "std::runtime_error", message: "boom", line: None }),
            ..SILENT
        },
    },
    Case {
        name: "c++: an error of the library that nobody catches",
        given: NOTHING,
        programs: &[cpp("#include <iostream>\n#include <stdexcept>\n#include <string>\nnamespace shop {\n\
                         struct Empty : std::logic_error { using std::logic_error::logic_error; };\n}\nint main() {\n\
                         std::cout << \"before\" << std::endl;\nthrow shop::Empty(\"no \" + std::string(\"basket\"));\n}\n")],
        expected: Expected {
            ending: Ending::Signal("SIGABRT"),
            stdout: Text::Is("before\n"),
            stderr: Text::Has("no basket"),
            error: Some(Error { kind: "shop::Empty", message: "no basket", line: None }),
            ..SILENT
        },
    },
    Case {
        name: "c++: a number that is thrown",
        given: NOTHING,
        programs: &[cpp("int main() { throw 5; }\n")],
        expected: Expected {
            ending: Ending::Signal("SIGABRT"),
            stderr: Text::Has("int"),
            error: Some(Error { kind: "int", message: "", line: None }),
            ..SILENT
        },
    },
    Case {
        name: "c++: a syntax error",
        given: NOTHING,
        programs: &[cpp("#include <iostream>\nint main() {\nstd::cout << \"a\" << std::endl\nreturn 0;\n}\n")],
        expected: Expected {
            ending: Ending::Exit(1),
            stderr: Text::Has("expected ‘;’ before ‘return’"),
            error: Some(Error { kind: "CompileError", message: "expected ‘;’ before ‘return’", line: Some(3) }),
            ..SILENT
        },
    },
    Case {
        name: "c++: an undeclared name",
        given: NOTHING,
        programs: &[cpp("#include <iostream>\nint main() {\nstd::cout << total << std::endl;\n}\n")],
        expected: Expected {
            ending: Ending::Exit(1),
            stderr: Text::Has("‘total’ was not declared in this scope"),
            error: Some(Error {
                kind: "CompileError",
                message: "‘total’ was not declared in this scope",
                line: Some(3),
            }),
            ..SILENT
        },
    },
    Case {
        name: "c++: a type that does not fit",
        given: NOTHING,
        programs: &[cpp("#include <string>\n#include <vector>\nint main() {\nstd::vector<std::string> words;\n\
                         int first = words;\nreturn first;\n}\n")],
        expected: Expected {
            ending: Ending::Exit(1),
            stderr: Text::Has(
                "cannot convert ‘std::vector<std::__cxx11::basic_string<char> >’ to ‘int’ in initialization",
            ),
            error: Some(Error {
                kind: "CompileError",
                message: "cannot convert ‘std::vector<std::__cxx11::basic_string<char> >’ to ‘int’ in initialization",
                line: Some(5),
            }),
            ..SILENT
        },
    },
    Case {
        name: "c++: an assertion at compile time",
        given: NOTHING,
        programs: &[cpp("template <class T> void small() { static_assert(sizeof(T) < 4, \"too large\"); }\n\
                         int main() { small<char>(); small<int>(); }\n")],
        expected: Expected {
            ending: Ending::Exit(1),
            stderr: Text::Has("static assertion failed: too large"),
            error: Some(Error { kind: "CompileError", message: "static assertion failed: too large", line: Some(1) }),
            ..SILENT
        },
    },
    Case {
        name: "c++: a missing header",
        given: NOTHING,
        programs: &[cpp("#include <iostream>\n#include \"nowhere.hpp\"\nint main() {}\n")],
        expected: Expected {
            ending: Ending::Exit(1),
            stderr: Text::Has("nowhere.hpp: No such file or directory"),
            error: Some(Error {
                kind: "CompileError",
                message: "nowhere.hpp: No such file or directory",
                line: Some(2),
            }),
            ..SILENT
        },
    },
    Case {
        name: "c++: no main",
        given: NOTHING,
        programs: &[cpp("#include <iostream>\nvoid helper() { std::cout << \"never\"; }\n")],
        expected: Expected {
            ending: Ending::Exit(1),
            stderr: Text::Has("undefined reference to `main'"),
            error: Some(Error { kind: "LinkError", message: "undefined reference to `main'", line: None }),
            ..SILENT
        },
    },
    Case {
        name: "c++: a function that is nowhere",
        given: NOTHING,
        programs: &[cpp("int elsewhere(int);\nint main() { return elsewhere(1); }\n")],
        expected: Expected {
            ending: Ending::Exit(1),
            stderr: Text::Has("undefined reference to `elsewhere(int)'"),
            error: Some(Error { kind: "LinkError", message: "undefined reference to `elsewhere(int)'", line: None }),
            ..SILENT
        },
    },
    Case {
        name: "c++: a null pointer",
        given: NOTHING,
        programs: &[cpp("#include <iostream>\nstruct Node { int value; Node *next; };\nint main() {\n\
                         std::cout << \"before\" << std::endl;\nNode *volatile nowhere = nullptr;\n\
                         std::cout << nowhere->value << std::endl;\n}\n")],
        expected: Expected { ending: Ending::Signal("SIGSEGV"), stdout: Text::Is("before\n"), ..SILENT },
    },
    Case {
        name: "c++: recursion without end",
        given: NOTHING,
        programs: &[cpp("#include <iostream>\nstatic int deeper(int n) {\nvolatile int kept = n;\n\
                         return deeper(n + 1) + kept;\n}\nint main() {\nstd::cout << \"before\" << std::endl;\n\
                         std::cout << deeper(0) << std::endl;\n}\n")],
        expected: Expected { ending: Ending::Signal("SIGSEGV"), stdout: Text::Is("before\n"), ..SILENT },
    },
];

/// What the C++ of WebAssembly has and the g++ 12 of a host has not.
pub(super) const WASM_ONLY: &[Case] = &[
    Case {
        name: "c++: formatting of C++20",
        given: NOTHING,
        programs: &[cpp("#include <format>\n#include <iostream>\n#include <string>\nint main() {\n\
                         std::cout << std::format(\"{} {:>6} {:<6}| {:^7} {:+d} {:#x} {:08.3f} {:e}\\n\", \"a\", 42, \"left\", \"mid\", 5, 255, 3.14159, 12345.678);\n\
                         std::cout << std::format(\"{1} {0} {1:?} {2:*^9} {3}\\n\", 1, \"q\\\"t\", \"x\", true);\n\
                         std::string text = \"text\";\n\
                         try { std::cout << std::vformat(\"{:d}\", std::make_format_args(text)); } catch (const std::format_error &) { std::cout << \"format error\\n\"; }\n\
                         }\n")],
        expected: printed(
            "a     42 left  |   mid   +5 0xff 0003.142 1.234568e+04\nq\"t 1 \"q\\\"t\" ****x**** true\n\
            format error\n",
        ),
    },
    Case {
        name: "c++: print of C++23",
        given: NOTHING,
        programs: &[cpp("#include <print>\n#include <string>\n#include <vector>\nint main() {\n\
                         std::println(\"{} and {}\", 1, std::string(\"two\"));\n\
                         std::print(stderr, \"to {}\\n\", \"stderr\");\nstd::println(\"{}\", std::vector{1, 2, 3});\n}\n")],
        expected: Expected { stdout: Text::Is("1 and two\n[1, 2, 3]\n"), stderr: Text::Is("to stderr\n"), ..SILENT },
    },
    Case {
        name: "c++: expected and monads of C++23",
        given: NOTHING,
        programs: &[cpp("#include <expected>\n#include <iostream>\n#include <optional>\n#include <string>\n\
                         std::expected<int, std::string> parse(const std::string &text) {\n\
                         if (text.empty() || text.find_first_not_of(\"0123456789\") != std::string::npos) return std::unexpected(\"not a number: \" + text);\n\
                         return std::stoi(text);\n}\nint main() {\nfor (auto text : {\"42\", \"x\"}) {\n\
                         auto doubled = parse(text).transform([](int n) { return n * 2; });\n\
                         if (doubled) std::cout << *doubled << '\\n'; else std::cout << doubled.error() << '\\n';\n}\n\
                         std::optional<int> some = 5;\n\
                         std::cout << some.and_then([](int n) { return n > 3 ? std::optional(n + 1) : std::nullopt; }).or_else([] { return std::optional(0); }).value() << '\\n';\n\
                         }\n")],
        expected: printed("84\nnot a number: x\n6\n"),
    },
    Case {
        name: "c++: views of C++23",
        given: NOTHING,
        programs: &[cpp(
            "#include <iostream>\n#include <ranges>\n#include <string>\n#include <utility>\n#include <vector>\n\
                         struct Grid {\nstd::vector<int> cells = std::vector<int>(6);\n\
                         int &operator[](int row, int column) { return cells[row * 3 + column]; }\n};\n\
                         enum class Color : unsigned char { red = 7 };\nint main() {\nstd::vector<int> numbers{1, 2, 3};\n\
                         std::vector<char> letters{'a', 'b', 'c'};\n\
                         for (auto [n, letter] : std::views::zip(numbers, letters)) std::cout << n << letter << ' ';\n\
                         auto words = std::views::iota(1, 5) | std::views::transform([](int n) { return std::to_string(n * n); }) | std::ranges::to<std::vector>();\n\
                         Grid grid;\ngrid[1, 2] = 9;\n\
                         std::cout << words.size() << words.back() << ' ' << grid.cells[5] << ' ' << int(std::to_underlying(Color::red)) << ' ' << std::string(\"haystack\").contains(\"st\") << '\\n';\n\
                         }\n",
        )],
        expected: printed("1a 2b 3c 416 9 7 1\n"),
    },
];
