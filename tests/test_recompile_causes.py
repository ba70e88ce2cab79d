"""Why JAX traced or compiled again, over the whole key of its caches: counts against JAX's own events, causes, lines.

Each function of ROWS is one program. The lines of its docstring are what the explanation must hold, as regular
expressions; after `!` what it must not. A line of code that ends in `#@` must be named. No cause may be unknown.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parent.parent

START = """
import collections, contextlib, dataclasses, enum, functools, gc, inspect, re, sys, threading
from functools import partial
import equinox as eqx, jax, jax.numpy as jnp, numpy as np
from jax import lax
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec as P, SingleDeviceSharding
from jax.experimental.compute_on import compute_on
import hlodiff

x, m, dev = jnp.ones(4), jnp.ones((4, 4)), jax.devices()
"""

ROWS = r'''
def jit_again_same_function():
    """!again
    !trace 2"""
    def f(a): return a+1
    for _ in range(3): jax.jit(f)(x)
class Obj:
    def __init__(self, k=2.0): self.k=k; self.step=jax.jit(self._step)
    def _step(self,a): return a*self.k
    def method(self,a): return a*self.k
def jit_bound_method_in_loop():
    """method
    !known"""
    o=Obj()
    for _ in range(3): jax.jit(o.method)(x) #@
def jit_in_init_method():
    """Obj
    jitted again at"""
    for k in (1.0,2.0,3.0): Obj(k).step(x)
def vmap_in_loop():
    """vmap"""
    def f(a): return a+1
    for _ in range(3): jax.jit(jax.vmap(f))(m) #@
def checkpoint_in_loop():
    """checkpoint"""
    def f(a): return jnp.sin(a)
    for _ in range(3): jax.jit(jax.checkpoint(f))(x) #@
def partial_other_value():
    """`n`|`0`
    2 -> 3"""
    def f(n,a): return a+n
    for n in (2,3): jax.jit(partial(f,n))(x) #@
class Call:
    def __init__(self,k=1): self.k=k
    def __call__(self,a): return a*self.k
def callable_object_other_value():
    """self.k
    1.0 -> 2.0"""
    for k in (1.0,2.0): jax.jit(Call(k))(x) #@
def wraps_in_loop():
    """new function object"""
    def f(a): return a+1
    def deco(g):
        @functools.wraps(g)
        def inner(*a): return g(*a)
        return inner
    for _ in range(3): jax.jit(deco(f))(x) #@
def closure_array():
    """closes over
    `w`"""
    def make(w): return jax.jit(lambda a:a*w) #@
    for k in (1.0,2.0): make(x*k)(x)
def closure_tuple():
    """closes over
    `k` \(1, 2\) -> \(1, 3\)"""
    def make(k): return jax.jit(lambda a:a*k[1]) #@
    for k in ((1,2),(1,3)): make(k)(x)
def closure_function():
    """closes over|`act`"""
    def make(act): return jax.jit(lambda a:act(a)) #@
    for a in (jnp.sin, jnp.cos): make(a)(x)
def default_argument():
    """k
    1 -> 2"""
    for k in (1,2): jax.jit(lambda a,k=k:a*k)(x) #@
def dict_key_renamed():
    """d\['b'\]|'b'"""
    f=jax.jit(lambda d:sum(d.values()))
    f({"a":x}); f({"b":x}) #@
def tuple_list():
    """`d` is a list, before a tuple"""
    f=jax.jit(lambda d:d[0])
    f((x,)); f([x]) #@
def none():
    """None"""
    f=jax.jit(lambda a,b:a)
    f(x,None); f(x,x) #@
def dict_order_ordereddict():
    """order|keys"""
    f=jax.jit(lambda d:d["a"])
    f(collections.OrderedDict(a=x,b=x)); f(collections.OrderedDict(b=x,a=x)) #@
def namedtuple_anew():
    """`p`.*class.*(made|new|again)"""
    f=jax.jit(lambda p:p[0])
    for _ in range(2):
        T=collections.namedtuple("T","a b")
        f(T(x,x)) #@
def dataclass_anew():
    """`p`.*class.*(made|new|again)"""
    f=jax.jit(lambda p:p.a)
    for _ in range(2):
        @jax.tree_util.register_dataclass #@
        @dataclasses.dataclass
        class D:
            a: jax.Array
        f(D(x)) #@
def eqx_class_anew():
    """`p`.*class.*(made|new|again)"""
    f=eqx.filter_jit(lambda p:p.a)
    for _ in range(2):
        class D(eqx.Module): #@
            a: jax.Array
        f(D(x)) #@
def dataclass_meta():
    """`p.n`|`p`
    1.*2|2.*1"""
    @partial(jax.tree_util.register_dataclass, data_fields=["a"], meta_fields=["n"])
    @dataclasses.dataclass
    class D:
        a: jax.Array
        n: int
    f=jax.jit(lambda p:p.a*p.n)
    f(D(x,1)); f(D(x,2)) #@
@jax.tree_util.register_pytree_node_class
class Node:
    def __init__(self,a,aux): self.a=a; self.aux=aux
    def tree_flatten(self): return (self.a,), self.aux
    @classmethod
    def tree_unflatten(cls,aux,c): return cls(c[0],aux)
def aux_data():
    """`p`
    'u'.*'v'|'v'.*'u'"""
    f=jax.jit(lambda p:p.a)
    f(Node(x,"u")); f(Node(x,"v")) #@
class NoEq:
    def __init__(self,k=1): self.k=k
def aux_noeq():
    """`p`
    NoEq
    identity|no `==`|__eq__"""
    f=jax.jit(lambda p:p.a)
    for _ in range(3): f(Node(x,NoEq(1))) #@
def aux_lambda():
    """`p`
    function object"""
    f=jax.jit(lambda p:p.a)
    for _ in range(3): f(Node(x,lambda b:b)) #@
def aux_nan():
    """`p`
    nan"""
    f=jax.jit(lambda p:p.a)
    for _ in range(3): f(Node(x,float("nan"))) #@
def eqx_static_field_lambda():
    """`model.act`|`p.act`
    function object"""
    class M(eqx.Module):
        a: jax.Array
        act: object = eqx.field(static=True)
    f=eqx.filter_jit(lambda p:p.act(p.a))
    for _ in range(3): f(M(x,lambda b:b)) #@
def partial_pytree():
    """Partial|g"""
    f=jax.jit(lambda g,a:g(a))
    for _ in range(3): f(jax.tree_util.Partial(lambda b:b*2),x) #@
def growing_list():
    """`l` took 20 lengths, 1 to 20
    !l\[17\]"""
    f=jax.jit(lambda l:l[0])
    l=[]
    for _ in range(20): l.append(x); f(l) #@
def static_position_then_keyword():
    """`n`.*keyword.*position|`n`.*position.*keyword
    !known"""
    f=jax.jit(lambda a,n:a*n,static_argnames="n")
    f(x,2); f(x,n=2) #@
def dynamic_position_then_keyword():
    """`y`.*keyword.*position
    !known"""
    f=jax.jit(lambda a,y:a*y)
    f(x,x); f(x,y=x) #@
def keyword_then_position():
    """`y`.*position.*keyword
    !known"""
    f=jax.jit(lambda a,y:a*y)
    f(x,y=x); f(x,x) #@
def default_given_or_not():
    """`y`.*not given"""
    f=jax.jit(lambda a,y=2.0:a*y)
    f(x); f(x,2.0) #@
def keyword_order():
    """!again
    !trace 2"""
    f=jax.jit(lambda a,b:a*b)
    f(a=x,b=x); f(b=x,a=x)
def static_noeq():
    """identity|no `==`"""
    f=jax.jit(lambda a,n:a*n.k,static_argnums=1)
    for _ in range(3): f(x,NoEq()) #@
def static_nan():
    """nan.*not equal to itself"""
    f=jax.jit(lambda a,n:a*n,static_argnums=1)
    for _ in range(3): f(x,float("nan")) #@
def static_bool_int():
    """static `n` is True.*before 1|bool"""
    f=jax.jit(lambda a,n:a*n,static_argnums=1)
    f(x,1); f(x,True)
def static_partial():
    """`g`.*partial
    function object|identity|functools.partial"""
    f=jax.jit(lambda a,g:g(a),static_argnums=1)
    h=lambda k,b:b*k
    for _ in range(3): f(x,partial(h,2)) #@
def static_class_anew():
    """class"""
    f=jax.jit(lambda a,c:a,static_argnums=1)
    for _ in range(2):
        class C: pass
        f(x,C) #@
def static_long_repr_differs_late():
    """n=3|3, before 2|`c.n`"""
    @dataclasses.dataclass(frozen=True)
    class Cfg: name:str; n:int
    f=jax.jit(lambda a,c:a*c.n,static_argnums=1)
    f(x,Cfg("z"*100,2)); f(x,Cfg("z"*100,3)) #@
def static_frozen_dataclass_holding_noeq():
    """`c.o`|holds
    NoEq"""
    @dataclasses.dataclass(frozen=True)
    class Cfg: n:int; o:object
    f=jax.jit(lambda a,c:a*c.n,static_argnums=1)
    for _ in range(2): f(x,Cfg(2,NoEq())) #@
def static_eq_same_repr():
    """repr|print|not equal"""
    class C:
        n=0
        def __init__(self): C.n+=1; self.k=C.n
        def __repr__(self): return "C()"
        def __eq__(self,o): return isinstance(o,C) and self.k==o.k
        def __hash__(self): return 1
    f=jax.jit(lambda a,c:a*c.k,static_argnums=1)
    for _ in range(2): f(x,C()) #@
def filter_jit_python_number():
    """`n`"""
    f=eqx.filter_jit(lambda a,n:a*n)
    f(x,2); f(x,3) #@
def forty_shapes():
    """axis 0 took 40 lengths, 1 to 40
    pad|bucket
    !more like|!more reasons"""
    f=jax.jit(lambda a:a+1)
    for n in range(1,41): f(np.ones(n,np.float32)) #@
def two_axes_batches():
    """axis 0 took
    axis 1 took"""
    f=jax.jit(lambda a:a+1)
    for n in range(1,7): f(np.ones((n,n+3),np.float32)) #@
def static_forty_values():
    """static `n` took 20 values
    !more reasons"""
    f=jax.jit(lambda a,n:a*n,static_argnums=1)
    for n in range(20): f(x,n) #@
def weak_array():
    """weakly"""
    f=jax.jit(lambda a:a+1)
    f(jnp.ones(4)); f(jnp.full(4,1.0)) #@
def key_impl():
    """key<rbg>|rbg"""
    f=jax.jit(lambda k:jax.random.uniform(k))
    f(jax.random.key(0)); f(jax.random.key(0,impl="rbg")) #@
def committed():
    """committed|cpu:0
    !known"""
    f=jax.jit(lambda a:a+1)
    f(x); f(jax.device_put(x,dev[0])) #@
def other_device():
    """cpu:1
    !derivative|known"""
    f=jax.jit(lambda a:a+1)
    f(jax.device_put(x,dev[0])); f(jax.device_put(x,dev[1])) #@
def mesh_same_shape_other_devices():
    """device
    !derivative|known"""
    f=jax.jit(lambda a:a+1)
    for ds in (dev[:2],dev[2:4]):
        me=Mesh(np.array(ds),("i",)); f(jax.device_put(x,NamedSharding(me,P("i")))) #@
def mesh_permuted():
    """device
    !derivative|known"""
    f=jax.jit(lambda a:a+1)
    for ds in (dev[:2],dev[:2][::-1]):
        me=Mesh(np.array(ds),("i",)); f(jax.device_put(x,NamedSharding(me,P("i")))) #@
def axis_types():
    """xplicit|axis"""
    f=jax.jit(lambda a:a+1)
    for t in (AxisType.Auto,AxisType.Explicit):
        me=jax.make_mesh((2,),("i",),axis_types=(t,)); f(jax.device_put(x,NamedSharding(me,P("i")))) #@
def memory_kind():
    """pinned_host
    !derivative|known"""
    f=jax.jit(lambda a:a+1)
    me=Mesh(np.array(dev[:1]),("i",))
    f(jax.device_put(x,NamedSharding(me,P())))
    f(jax.device_put(x,NamedSharding(me,P(),memory_kind="pinned_host"))) #@
def donation():
    """donate"""
    def g(a): return a+1
    jax.jit(g)(x); jax.jit(g,donate_argnums=0)(jnp.ones(4)) #@
def out_shardings():
    """out_shardings"""
    def g(a): return a+1
    me=Mesh(np.array(dev[:2]),("i",))
    jax.jit(g)(x); jax.jit(g,out_shardings=NamedSharding(me,P("i")))(x) #@
def compiler_options():
    """compiler_options|xla_cpu
    !known"""
    def g(a): return a+1
    jax.jit(g)(x); jax.jit(g,compiler_options={"xla_embed_ir_in_executable":True})(x) #@
def x64():
    """x64"""
    f=jax.jit(lambda a:a+1)
    f(x)
    with jax.enable_x64(True): f(x) #@
def precision():
    """matmul_precision"""
    f=jax.jit(lambda a:a@a)
    f(m)
    with jax.default_matmul_precision("float32"): f(m) #@
def default_device():
    """default_device
    !known"""
    f=jax.jit(lambda a:a+1)
    f(x)
    with jax.default_device(dev[1]): f(x) #@
def mesh_context():
    """mesh"""
    f=jax.jit(lambda a:a+1)
    f(x)
    me=jax.make_mesh((2,),("i",),axis_types=(AxisType.Auto,))
    with jax.set_mesh(me): f(x) #@
def set_mesh_other_devices():
    """device
    !known"""
    f=jax.jit(lambda a:a+1)
    for ds in (dev[:2],dev[2:4]):
        with jax.set_mesh(Mesh(np.array(ds),("i",),axis_types=(AxisType.Auto,))): f(x) #@
def compute_on_context():
    """compute_on"""
    f=jax.jit(lambda a:a+1)
    f(x)
    with compute_on("device_host"): f(x) #@
def disable_x64_name_scope():
    """xla_metadata|metadata"""
    from jax.experimental.xla_metadata import set_xla_metadata
    f=jax.jit(lambda a:a+1)
    f(x)
    with set_xla_metadata(a="b"): f(x) #@
def clear_caches():
    """clear_caches
    !known"""
    f=jax.jit(lambda a:a+1)
    f(x); jax.clear_caches(); f(x) #@
def clear_cache_of_function():
    """clear_cache
    !known"""
    f=jax.jit(lambda a:a+1)
    f(x); f.clear_cache(); f(x) #@
def vmap_of_jit():
    """vmap|batch
    !known"""
    f=jax.jit(lambda a:a+1)
    f(x); jax.vmap(f)(m) #@
def vmap_of_jit_with_a_static():
    """jax.vmap
    !jitted with"""
    f=jax.jit(lambda a,n:a*n,static_argnums=1)
    f(x,2); jax.vmap(f,in_axes=(0,None))(m,2) #@
def grad_of_jit():
    """grad|derivative
    !known"""
    f=jax.jit(lambda a:(a*a).sum())
    f(x); jax.grad(f)(x) #@
def scan_closure_value():
    """k"""
    for k in (1.0,2.0): lax.scan(lambda c,a:(c+a*k,c),0.0,x) #@
def scan_other_length():
    """f32\[5\], before f32\[4\]
    !was traced again"""
    def body(c,a): return c+a,c
    lax.scan(body,0.0,x); lax.scan(body,0.0,jnp.ones(5)) #@
def pmap():
    """new function object"""
    for _ in range(2): jax.pmap(lambda a:a+1)(m) #@
def callback_lambda():
    """callback"""
    for _ in range(3): jax.pure_callback(lambda a:a,jax.ShapeDtypeStruct((4,),jnp.float32),x) #@
def raises():
    """raised ValueError"""
    @jax.jit
    def f(a): raise ValueError
    for _ in range(3):
        with contextlib.suppress(ValueError): f(x) #@
A, B = NoEq(1), NoEq(1)
def two_constant_objects():
    """another NoEq
    !each time|is a new"""
    f=jax.jit(lambda a,n:a,static_argnums=1)
    for i in range(4): f(x,(A,B)[i%2]) #@
def methods_of_two_objects():
    """self.k
    1 -> 2"""
    class T:
        def __init__(self,k=1): self.k=k
        def step(self,a): return a*self.k
    ts=[T(1),T(2)]
    for t in ts: jax.jit(t.step)(x) #@
def act_in_init():
    """`model.act` is a new
    made at
    !numpy"""
    class L(eqx.Module):
        w: jax.Array
        act: object
        def __init__(self):
            self.w=x; self.act=jax.vmap(jnp.tanh) #@
        def __call__(self,a): return self.act(a*self.w)
    step=eqx.filter_jit(lambda model,a:model(a))
    for _ in range(3): step(L(),x) #@
def partial_act_in_init():
    """`model.act` is a new functools.partial"""
    class L(eqx.Module):
        act: object
        def __init__(self):
            self.act=partial(jax.nn.leaky_relu,negative_slope=0.2) #
        def __call__(self,a): return self.act(a)
    step=eqx.filter_jit(lambda model,a:model(a))
    for _ in range(3): step(L(),x) #@
def buckets():
    """axis 0 took 5 lengths: 8, 16, 32, 64, 128"""
    f=jax.jit(lambda a:a.sum())
    for n in (8,16,32,64,128): f(np.ones(n,np.float32)) #@
def while_lambda():
    """new function object"""
    for _ in range(3): lax.while_loop(lambda c:c[0]<3,lambda c:c+1,x) #@
def cond_lambdas():
    """new function object"""
    for _ in range(3): lax.cond(True,lambda a:a+1,lambda a:a-1,x) #@
def map_lambda():
    """new function object"""
    for _ in range(3): lax.map(lambda a:a*2,x) #@
def vmap_batch_sizes():
    """took|f32\[3,4\]|3"""
    f=jax.jit(lambda a:a*2)
    for n in (2,3): jax.vmap(f)(jnp.ones((n,4))) #@
def vmap_in_axes():
    """`in_axes` is 1, before 0"""
    f=jax.jit(lambda a:a*2)
    jax.vmap(f)(m); jax.vmap(f,in_axes=1)(m)
def compile_fails():
    """compiling it ended"""
    f=jax.jit(lambda a:a+1,compiler_options={"xla_no":1})
    for _ in range(2):
        with contextlib.suppress(Exception): f(x) #@
def make_jaxpr_then_call():
    """!trace 2"""
    f=jax.jit(lambda a:a+1)
    jax.make_jaxpr(f)(x); f(x)
def defaultdict_factory():
    """static data|`d`"""
    f=jax.jit(lambda d:d["a"])
    for _ in range(2):
        d=collections.defaultdict(lambda:0,a=x); f(d) #@
def layout():
    """layout|lies
    !known"""
    from jax.experimental.layout import Format, Layout
    f=jax.jit(lambda a:a+1)
    f(m); f(jax.device_put(m,Format(Layout((1,0)),SingleDeviceSharding(dev[0])))) #@
def in_shardings():
    """in_shardings"""
    def g(a): return a+1
    me=Mesh(np.array(dev[:2]),("i",))
    jax.jit(g)(x); jax.jit(g,in_shardings=NamedSharding(me,P("i")))(x) #@
def out_shardings_devices():
    """2, 3|devices|out_shardings
    !known"""
    def g(a): return a+1
    for ds in (dev[:2],dev[2:4]):
        jax.jit(g,out_shardings=NamedSharding(Mesh(np.array(ds),("i",)),P("i")))(x) #@
def list_closure():
    """`cfg`"""
    def make(cfg): return jax.jit(lambda a:a*cfg[0]) #@
    for i in range(2): make([i])(x)
def static_numpy_numbers():
    """static `n` took 5 values: int64\(0\)
    !looks the same"""
    f=jax.jit(lambda a,n:a*n,static_argnums=1)
    for n in np.arange(5): f(x,n) #@
def static_of_another_type():
    """static `d` is float16 of type Float16DType, before the class float16
    same type
    !looks the same"""
    f=jax.jit(lambda a,d:a.astype(d),static_argnums=1)
    f(x,jnp.float16); f(x,np.dtype("float16")) #@
def static_enum_anew():
    """static `e` is of another class named .*E.*: the class is made again
    !identity"""
    f=jax.jit(lambda a,e:a,static_argnames="e")
    for _ in range(2):
        class E(enum.Enum): A=1 #@
        f(x,e=E.A) #@
def static_method():
    """`g` is a method of another .*M each time"""
    class M:
        def go(self,b): return b*2
    f=jax.jit(lambda a,g:g(a),static_argnums=1)
    for _ in range(2): f(x,M().go) #@
def raises_until_it_does_not():
    """traces 2, 3
    raised KeyError"""
    n=[0]
    @jax.jit
    def f(a):
        n[0]+=1
        if n[0]<3: raise KeyError
        return a+1
    for _ in range(4):
        with contextlib.suppress(KeyError): f(x) #@
def scan_of_an_object():
    """its function `.*Body` .* closes over `self.k` 1.0 -> 2.0
    !unknown"""
    class Body:
        def __init__(self,k): self.k=k
        def __call__(self,c,a): return c+a*self.k,c #@
    for k in (1.,2.): lax.scan(Body(k),0.0,x) #@
def map_of_an_object():
    """its function `.*Double`
    !jax/_src"""
    class Double:
        def __call__(self,a): return a*2 #@
    for _ in range(2): lax.map(Double(),x) #@
def scan_after_clear_caches():
    """emptied by jax.clear_caches
    !was traced again"""
    def body(c,a): return c+a,c
    lax.scan(body,0.0,x); jax.clear_caches(); lax.scan(body,0.0,x) #@
def scan_reversed():
    """static `reverse` is True, before False
    !as an array"""
    def body(c,a): return c+a,c
    for r in (False,True): lax.scan(body,0.0,x,reverse=r) #@
def pmap_static():
    """static `n` is 3, before 2"""
    f=jax.pmap(lambda a,n,b:a*n+b,static_broadcasted_argnums=1)
    for n in (2,3): f(m,n,m) #@
def pmap_lengths():
    """`a` is f32\[3,4\], before f32\[2,4\]
    !devices|sharding"""
    f=jax.pmap(lambda a:a*2)
    for n in (2,3): f(np.ones((n,4),np.float32)) #@
def pmap_devices():
    """mapped with devices 2, 3, before 0, 1
    !sharding|_internal"""
    def g(a): return a*2
    for ds in (dev[:2],dev[2:4]): jax.pmap(g,devices=ds)(np.ones((2,4),np.float32)) #@
def pmap_axes():
    """mapped with in_axes 1, before 0"""
    def g(a): return a*2
    for axis in (0,1): jax.pmap(g,in_axes=axis)(np.ones((2,2),np.float32)) #@
def shard_map_without_jit():
    """the body of a shard_map is compiled operation by operation
    put jax.jit around
    !waste.*\n *nothing"""
    me=jax.make_mesh((2,),("i",),axis_types=(AxisType.Auto,))
    f=jax.jit(lambda a:jnp.sin(a)*2)
    for _ in range(2): jax.shard_map(f,mesh=me,in_specs=P("i"),out_specs=P("i"))(x) #@
def closure_module():
    """closes over `mod.bias`, another array f32\[4\]"""
    def make(mod): return jax.jit(lambda a:mod(a)) #@
    for s in (0,1): make(eqx.nn.Linear(4,4,key=jax.random.key(s)))(x)
def closure_of_closure():
    """closes over `inner.k` 1.0 -> 2.0"""
    def outer(k):
        def inner(a): return a*k
        return jax.jit(lambda a:inner(a)) #@
    for k in (1.,2.): outer(k)(x)
def closure_object():
    """closes over `o`, another .*Weights"""
    class Weights:
        def __init__(self,w): self.w=w
    def make(o): return jax.jit(lambda a:a*o.w) #@
    for k in (1.,2.): make(Weights(x*k))(x)
def healthy_loop():
    """!again
    !trace 2"""
    f=jax.jit(lambda a:a*0.9+0.1)
    a=x
    for _ in range(200): a=f(a)
'''

RUN = """
counted = []
def listen(event, seconds, **more):
    if event.endswith("/backend_compile_duration"): counted.append(event)
jax.monitoring.register_event_duration_secs_listener(listen)

for name, fn in [pair for pair in vars().copy().items() if inspect.isfunction(pair[1]) and pair[1].__doc__]:
    if fn.__module__ != "__main__": continue
    with hlodiff.watch(fresh=True) as seen:
        counted.clear()
        fn()
        number = len(counted)
    print("===", name, number, seen.compiles() + seen.eager())
    print(seen.explain())
"""


def _programs() -> dict[str, tuple[list[str], list[int]]]:
    """The expectations and the marked lines of each row."""
    found = {}
    lines = (START + ROWS).splitlines()
    names = [(index, match[1]) for index, line in enumerate(lines) if (match := re.match(r"def (\w+)\(\):", line))]
    for (start, name), (end, _) in zip(names, [*names[1:], (len(lines), "")], strict=True):
        text = "\n".join(lines[start + 1 : end])
        expected = [line.strip() for line in text.split('"""')[1].splitlines() if line.strip()]
        found[name] = expected, [start + index + 2 for index, line in enumerate(text.splitlines()) if "#@" in line]
    return found


PROGRAMS = _programs()


@pytest.fixture(scope="module")
def explained(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[str, str]]:
    """What one process prints of all programs, by name: the two counts, and the explanation."""
    folder = tmp_path_factory.mktemp("explained")
    (folder / "x.py").write_text(START + ROWS + RUN)
    flags = {"JAX_PLATFORMS": "cpu", "XLA_FLAGS": "--xla_force_host_platform_device_count=4"}
    env = {**os.environ, "PYTHONPATH": str(ROOT), **flags}
    run = subprocess.run([sys.executable, "x.py"], cwd=folder, env=env, capture_output=True, text=True, timeout=500)
    assert run.returncode == 0, run.stderr[-3000:]
    blocks = [block.partition("\n") for block in run.stdout.split("=== ")[1:]]
    return {head.split()[0]: (head.partition(" ")[2], text) for head, _, text in blocks}


def test_all_programs_ran(explained: dict[str, tuple[str, str]]) -> None:
    assert list(explained) == list(PROGRAMS) and len(PROGRAMS) > 80


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_cause_is_named_with_the_users_line(explained: dict[str, tuple[str, str]], name: str) -> None:
    counts, text = explained[name]
    counted, seen = counts.split()
    assert counted == seen
    expected, marked = PROGRAMS[name]
    for pattern in expected:
        assert bool(re.search(pattern.removeprefix("!").strip(), text)) is not pattern.startswith("!"), (pattern, text)
    for line in marked:
        assert f"x.py:{line}" in text, text
    assert "known" not in text and "nothing that hlodiff sees" not in text, text
