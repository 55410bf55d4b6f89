"""Cases of `agreement.py`: numpy and scipy."""

import numpy as np

from agreement_case import case, rng


@case()
def numpy_linalg():
    a = rng().random((60, 60))
    h = a + a.T
    w, v = np.linalg.eigh(h)
    s = np.linalg.svd(a, compute_uv=False)
    return [
        a @ a, np.linalg.inv(a), np.linalg.det(a / 3), np.linalg.solve(a, a[0]), w, np.abs(v[:, -1]), s,
        np.sort_complex(np.linalg.eigvals(a)), np.linalg.cholesky(a @ a.T + 60 * np.eye(60)), np.linalg.pinv(a[:, :20]),
        np.linalg.lstsq(a[:, :20], a[0], rcond=None)[0], np.linalg.matrix_power(a / 30, 5), np.linalg.cond(a),
    ]  # fmt: skip


@case(rtol=2e-5, atol=2e-5)
def numpy_linalg_float32():
    a = rng().random((60, 60)).astype(np.float32)
    return [a @ a, np.linalg.svd(a, compute_uv=False), np.linalg.eigvalsh(a + a.T)]


# Natively these are summed in single precision, by several numbers: up to 5e-6 off.
@case(rtol=1e-5, atol=0)
def numpy_long_sums():
    ones = np.ones(20_000_000, "f4")
    some = rng(3).random(1_000_000, dtype="f4")
    pair = some + 1j * some[::-1]
    return [
        ones @ ones,
        some @ some,
        np.vdot(pair, pair),
        np.linalg.norm(ones),
        np.linalg.norm(some),
        np.linalg.norm(pair),
    ]


@case()
def numpy_fft_and_random():
    x = rng(3).normal(size=4096)
    g = rng(4)
    return [
        np.fft.fft(x)[:50],
        np.fft.irfft(np.fft.rfft(x))[:50],
        g.gamma(2, size=20),
        g.binomial(100, 0.3, 20),
        g.permutation(30),
    ]


@case()
def scipy_linalg():
    import scipy.linalg as L

    a = rng(1).random((50, 50))
    spd = a @ a.T + 50 * np.eye(50)
    p, lower, u = L.lu(a)
    return [
        lower, u, np.abs(np.diag(L.qr(a)[1])), L.svdvals(a), np.sort_complex(L.eigvals(a)), L.eigvalsh(a + a.T),
        L.cholesky(spd), L.solve(spd, a[0], assume_a="pos"), L.expm(a / 10), L.logm(spd), L.sqrtm(spd), L.det(a / 3),
        L.solve_sylvester(a, a.T, a), L.solve_banded((1, 1), np.ones((3, 50)) + np.eye(3, 50, 1), a[0]), L.toeplitz(a[0])[3],
        L.solve_continuous_are(-np.eye(3), np.eye(3), np.eye(3), np.eye(3)), L.lstsq(a[:, :9], a[0])[0], L.eigh(a + a.T, spd)[0],
        L.hessenberg(spd)[0, 0], L.polar(a)[1], L.pinvh(spd), L.null_space(a[:45]).shape,
    ]  # fmt: skip


@case()
def scipy_linalg_out_of_range():
    import scipy.linalg as L

    far = [[-1e5, 1], [1, -1e5]]
    return [
        [L.expm(np.array(a, kind)) for a in (far, np.full((2, 2), 1e60), [[1e9, 1], [0, -1e9]], np.full((3, 3), np.inf)) for kind in ("f8", "c16")],
        L.expm(np.array(far, "f4")), L.expm(np.array(far, "c8")), L.norm(np.full(5, 1e200)), L.norm(np.full(5, 1e-200)), np.linalg.norm([np.inf, 1]),
    ]  # fmt: skip


@case(rtol=1e-6, atol=1e-8)
def scipy_optimize():
    import scipy.optimize as o

    start = np.array([1.3, 0.7, 0.8, 1.9, 1.2])
    results = [
        o.minimize(o.rosen, start, method=method, jac=o.rosen_der if method not in ("Nelder-Mead", "Powell", "COBYLA") else None,
                   options={"xatol": 1e-9, "fatol": 1e-9} if method == "Nelder-Mead" else None).x
        for method in ("BFGS", "L-BFGS-B", "CG", "SLSQP", "TNC", "Nelder-Mead", "Powell", "trust-constr")
    ]  # fmt: skip
    x = np.linspace(0, 4, 50)
    y = 2.5 * np.exp(-1.3 * x) + 0.5 + 0.01 * rng(2).normal(size=50)
    program = o.linprog([-1, 4, 2], A_ub=[[-3, 1, 1], [1, 2, 0]], b_ub=[6, 4], bounds=[(0, 9), (-3, None), (0, 1)])
    whole = o.milp(
        [-1, -2, -3],
        constraints=o.LinearConstraint([[1, 1, 1], [3, 1, 0]], ub=[10, 12.5]),
        integrality=[1, 1, 1],
        bounds=o.Bounds(0, 6),
    )
    return [
        results, o.curve_fit(lambda x, a, b, c: a * np.exp(-b * x) + c, x, y)[0], o.brentq(np.cos, 1, 2), o.newton(lambda x: x**3 - 2, 1),
        o.root(lambda v: [v[0] + v[1] - 3, v[0] * v[1] - 2], [0.5, 3]).x, o.least_squares(lambda v: [v[0] ** 2 - 2, v[1] - 3], [1, 1]).x,
        program.fun, whole.fun, o.nnls(np.array([[1, 2.0], [3, 4], [5, 7]]), np.array([1.0, 2, 4]))[0],
        o.differential_evolution(o.rosen, [(-2, 2)] * 2, seed=1, tol=1e-10).x, o.linear_sum_assignment(rng(5).random((8, 8)))[1],
        o.minimize_scalar(lambda x: (x - 2) ** 2).x, o.dual_annealing(o.rosen, [(-2, 2)] * 2, seed=1, maxiter=200).x,
    ]  # fmt: skip


@case(rtol=1e-8)
def scipy_integrate():
    import scipy.integrate as i

    lorenz = lambda t, v: [10 * (v[1] - v[0]), v[0] * (28 - v[2]) - v[1], v[0] * v[1] - 8 / 3 * v[2]]  # noqa: E731
    solved = [
        i.solve_ivp(lorenz, (0, 1), [1, 1, 1], method=m, rtol=1e-10, atol=1e-12).y[:, -1]
        for m in ("RK45", "DOP853", "LSODA")
    ]
    stiff = i.solve_ivp(lambda t, y: -1000 * (y - np.cos(t)), (0, 1), [0], method="BDF", rtol=1e-9, atol=1e-11).y[0, -1]
    return [
        i.quad(lambda x: np.exp(-x * x), -np.inf, np.inf)[0], i.dblquad(lambda y, x: x * y, 0, 1, 0, lambda x: x)[0],
        i.simpson(np.sin(np.linspace(0, np.pi, 101)), dx=np.pi / 100), i.trapezoid([1, 4, 9]), [[round(n, 7) for n in y] for y in solved],
        round(float(stiff), 7), i.odeint(lambda y, t: -y, 1, [0, 1, 2])[:, 0].round(6), i.quad_vec(lambda x: np.array([x, x**2]), 0, 1)[0],
        i.romb(np.linspace(0, 1, 17) ** 3, dx=1 / 16) if hasattr(i, "romb") else 0.25,
    ]  # fmt: skip


@case(rtol=1e-8, atol=1e-10)
def scipy_sparse():
    import scipy.sparse as s
    import scipy.sparse.linalg as sl

    n = 200
    a = s.diags_array([-np.ones(n - 1), 2.5 * np.ones(n), -np.ones(n - 1)], offsets=[-1, 0, 1]).tocsc()
    r = s.random_array((100, 100), density=0.05, rng=rng(1)).tocsr()
    b = np.arange(n, dtype=float)
    graph = s.csr_array(rng(2).random((30, 30)) * (rng(3).random((30, 30)) < 0.2))
    return [
        sl.spsolve(a, b), sl.splu(a).solve(b), sl.cg(a, b, rtol=1e-12)[0], sl.gmres(a, b, rtol=1e-12)[0], np.sort(sl.eigsh(a, k=4)[0]),
        np.sort(sl.svds(a, k=3, rng=1)[1]), (r @ r.T).sum(), (r + r.T).toarray()[:3], r.tocoo().nnz, sl.expm(a[:20, :20].tocsc()).toarray()[0],
        np.sort(np.abs(sl.eigs(a, k=3)[0])), s.csgraph.connected_components(graph)[0], np.nan_to_num(s.csgraph.dijkstra(graph, indices=0), posinf=-1),
        s.csgraph.minimum_spanning_tree(graph).sum(), sl.norm(r), sl.lsqr(a, b, atol=1e-13, btol=1e-13)[0],
    ]  # fmt: skip


@case(rtol=1e-8)
def scipy_stats():
    import scipy.stats as t

    x, y = rng(0).normal(size=80), rng(1).normal(0.4, 1.2, size=80)
    tests = [
        t.ttest_ind(x, y), t.ttest_rel(x, y), t.ks_2samp(x, y), t.mannwhitneyu(x, y), t.shapiro(x), t.f_oneway(x, y), t.kruskal(x, y),
        t.spearmanr(x, y), t.kendalltau(x, y), t.pearsonr(x, y), t.wilcoxon(x, y), t.levene(x, y), t.chi2_contingency([[10, 20], [30, 40]])[:3],
        t.fisher_exact([[8, 2], [1, 5]]), t.normaltest(x), t.jarque_bera(x), t.bartlett(x, y),
    ]  # fmt: skip
    return [
        [[result[0], result[1]] for result in tests], t.linregress(x, y).slope, t.norm.ppf([0.01, 0.5, 0.975]), t.t.sf(2.1, 7), t.gamma.pdf(2.0, 3),
        t.beta(2, 3).cdf(0.4), t.poisson.pmf(range(5), 2.5), t.binom.cdf(3, 10, 0.4), t.gaussian_kde(x)([-1, 0, 1]), t.describe(x).kurtosis,
        t.multivariate_normal([0, 0], [[1, 0.3], [0.3, 2]]).pdf([[0, 1], [1, 1]]), t.norm.fit(y), t.expon.rvs(size=5, random_state=3),
        t.skewnorm.cdf(1, 2), t.rankdata(x[:9]), t.zscore(x)[:5], t.entropy([0.2, 0.3, 0.5]), t.iqr(x), t.sem(x), t.weibull_min.mean(1.7),
        t.qmc.Sobol(2, rng=1).random(8), t.binomtest(3, 10).pvalue, t.nct.cdf(1, 5, 1), t.levy_stable(1.5, 0).pdf(0.0), t.studentized_range.sf(3.1, 3, 20),
    ]  # fmt: skip


@case(rtol=1e-9, atol=1e-11)
def scipy_special():
    import scipy.special as p

    x = np.linspace(0.1, 5, 12)
    return [
        p.gamma(x), p.gammaln(x), p.erf(x), p.erfinv(x / 6), p.jv(1.5, x), p.yv(0, x), p.iv(2, x), p.kv(1, x), p.ellipk(x / 6), p.hyp2f1(1, 2, 3, x / 6),
        p.zeta(x + 1), p.digamma(x), p.betainc(2, 3, x / 6), p.lambertw(x), p.airy(x), p.expit(x), p.logsumexp(x), p.comb(30, 7), p.sph_harm_y(2, 1, x, 0.3),
        p.roots_legendre(9), p.owens_t(1, 2), p.ndtri(x / 6), p.voigt_profile(1, 2, 3), p.struve(1, x), p.ellipkinc(x, 0.4), p.sici(x), p.fresnel(x),
    ]  # fmt: skip


@case(rtol=1e-8, atol=1e-10)
def scipy_signal():
    import scipy.signal as g

    t = np.linspace(0, 1, 400)
    x = np.sin(2 * np.pi * 7 * t) + 0.3 * rng(1).normal(size=400)
    b, a = g.butter(4, 0.2)
    return [
        b, a, g.filtfilt(b, a, x)[::20], g.sosfilt(g.cheby1(5, 1, 0.3, output="sos"), x)[::20], g.welch(x, nperseg=128)[1], g.hilbert(x)[::40],
        g.find_peaks(g.savgol_filter(x, 21, 3), prominence=0.5)[0], g.fftconvolve(x, x)[::80], g.firwin(21, 0.3), g.spectrogram(x, nperseg=64)[2][::8, ::2],
        g.resample(x, 100)[::10], g.decimate(x, 4)[::10], g.correlate(x, x)[380:400], g.freqz(b, a, worN=16)[1], g.lfilter(b, a, x)[::20],
        g.convolve2d(np.outer(x[:9], x[:9]), np.ones((3, 3)))[3], g.remez(21, [0, 0.1, 0.2, 0.5], [1, 0]), g.ShortTimeFFT(g.windows.hann(32), 16, 400).stft(x)[3],
    ]  # fmt: skip


@case()
def scipy_interpolate():
    import scipy.interpolate as n

    x = np.linspace(0, 10, 25)
    y = np.sin(x) + 0.05 * rng(2).normal(size=25)
    q = np.linspace(0.2, 9.8, 17)
    points = rng(3).random((60, 2))
    return [
        n.CubicSpline(x, y)(q), n.PchipInterpolator(x, y)(q), n.Akima1DInterpolator(x, y)(q), n.interp1d(x, y, kind="quadratic")(q),
        n.UnivariateSpline(x, y, s=0.1)(q), n.make_interp_spline(x, y, k=5)(q), n.BSpline(*n.splrep(x, y, s=0.05))(q), n.RBFInterpolator(points, points[:, 0])(points[:5] * 0.9),
        n.griddata(points, points.sum(1), points[:5] * 0.5 + 0.25), n.RegularGridInterpolator((x, x), np.outer(y, y))([[1.1, 2.2], [3.3, 7.7]]),
        n.RectBivariateSpline(x, x, np.outer(y, y))([1.5, 4.5], [2.5]), n.BarycentricInterpolator(x[:6], y[:6])(q[:4]), n.splev(q, n.splrep(x, y), der=1),
        n.make_smoothing_spline(x, y, lam=0.1)(q), n.CloughTocher2DInterpolator(points, points[:, 1] ** 2)(points[:4] * 0.5 + 0.25),
    ]  # fmt: skip


@case()
def scipy_spatial():
    import scipy.cluster.hierarchy as h
    import scipy.spatial as p

    points = rng(4).random((70, 3))
    tree = p.cKDTree(points)
    rotation = p.transform.Rotation.from_euler("xyz", [10, 20, 30], degrees=True)
    return [
        tree.query(points * 0.9, 3)[0], len(tree.query_pairs(0.2)), p.ConvexHull(points).volume, p.ConvexHull(points).area, np.sort(p.Delaunay(points).simplices.sum(1)),
        np.sort(p.Voronoi(points[:, :2]).vertices.sum(1)), p.distance.pdist(points[:9], "cosine"), p.distance.cdist(points[:4], points[:5], "mahalanobis", VI=np.eye(3)),
        rotation.as_quat(), rotation.apply(points[0]), p.procrustes(points, points[::-1])[2], h.linkage(points, "ward")[:, 2], h.fcluster(h.linkage(points), 4, "maxclust").max(),
        p.distance.directed_hausdorff(points[:30], points[30:])[0], p.transform.Slerp([0, 1], p.transform.Rotation.from_euler("z", [[0], [90]], degrees=True))([0.3]).as_matrix(),
    ]  # fmt: skip


@case()
def scipy_fft_ndimage_io():
    import io

    import scipy.fft as f
    import scipy.io
    import scipy.ndimage as n

    x = rng(6).random((40, 40))
    buffer = io.BytesIO()
    scipy.io.savemat(buffer, {"x": x})
    buffer.seek(0)
    return [
        f.dct(x[0]), f.fft2(x)[0, :9], f.idst(x[1]), f.rfftn(x)[3, :5], n.gaussian_filter(x, 2)[::8, ::8], n.sobel(x)[::9, 5], n.label(x > 0.7)[1], n.zoom(x, 0.5)[::4, 3],
        n.rotate(x, 30, reshape=False)[::8, ::8], n.median_filter(x, 5)[::8, 4], n.distance_transform_edt(x > 0.2)[::6, 3], n.center_of_mass(x), n.map_coordinates(x, [[1.5, 2.5], [3.3, 4.4]]),
        scipy.io.loadmat(buffer)["x"][0, :4],
    ]  # fmt: skip
