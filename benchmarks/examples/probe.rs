use tributary_benchmarks::papers::{Context, papers};
fn main() {
    let want: Vec<String> = std::env::args().skip(1).collect();
    let context = Context::default();
    for paper in papers().unwrap() {
        if paper.id != "main" {
            continue;
        }
        for claim in &paper.claims {
            if !want.is_empty() && !want.iter().any(|w| claim.id.contains(w.as_str())) {
                continue;
            }
            let t = std::time::Instant::now();
            match claim.check(&context) {
                Ok((values, verdict)) => {
                    println!("{:?} {} {:.1}s: {:?}", verdict, claim.id, t.elapsed().as_secs_f64(), values)
                }
                Err(error) => println!("ERROR {}: {error}", claim.id),
            }
        }
    }
}
